"""Cells: runs that differ in their seed only, with their mean, spread, and the seeds they lack."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sffa.record import Record
from sffa.report.style import short_name
from sffa.study.compare import Comparison, Summary, compare, is_of, summarise
from sffa.vocabulary import cell_rank, name_of

_NAMED = ("dataset", "scenario", "method", "algorithm")


@dataclass(frozen=True)
class Cell:
    """One configuration: its finished runs, its failed ones, and the seeds that others have."""

    dataset: str
    scenario: str
    method: str
    algorithm: str
    variant: str
    runs: tuple[Record, ...]
    failed: tuple[Record, ...]
    missing: tuple[int, ...]

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Dataset, scenario, method and algorithm."""
        return self.dataset, self.scenario, self.method, self.algorithm

    @property
    def static(self) -> bool:
        """Whether all classes came at once."""
        return self.scenario == "static"

    def summary(self, metric: str) -> Summary | None:
        """Summarise a metric over the finished runs that have it."""
        return summarise([run.metrics[metric] for run in self.runs if metric in run.metrics])

    def compare(self, metric: str) -> Comparison:
        """Put a metric beside the paper's, where it has one."""
        return compare(self.runs or self.failed, metric)

    def is_of(self, *studies: str) -> bool:
        """Whether it was run exactly as one of these studies does."""
        return is_of((self.runs or self.failed)[0], *studies)


def ordered(records: Iterable[Record]) -> list[Record]:
    """Sort as the paper does: dataset, scenario, method, algorithm; then by seed."""
    return sorted(records, key=lambda r: (cell_rank(r.cell), -1 if r.seed is None else r.seed))


def cells(records: Iterable[Record]) -> list[Cell]:
    """Group records, in the paper's order, into cells.

    Runs of one name whose configurations differ in more than the seed are never averaged: they
    stay apart as cells, with the difference as ``variant``. A seed that the other cells of
    the same dataset and scenario have is missing here. Of two finished runs of one seed the
    later one counts.
    """
    runs = ordered(records)
    wanted: dict[tuple[str, str], set[int]] = defaultdict(set)
    for run in runs:
        if run.seed is not None:
            wanted[run.dataset, run.scenario].add(run.seed)
    found = []
    for name, group in groupby(runs, key=lambda run: run.cell):
        by_config: dict[str, list[Record]] = defaultdict(list)
        for run in group:
            by_config[_signature(run)].append(run)
        variants = _variants([members[0] for members in by_config.values()])
        for variant, members in zip(variants, by_config.values(), strict=True):
            seeds = wanted[name[0], name[1]] if len(by_config) == 1 else set()
            found.append(_cell(name, variant, members, seeds))
    return found


def label(cell: Cell, among: Sequence[Cell]) -> str:
    """Name a cell by its algorithm, and by what else tells it from its like, if it must."""
    alike = [other for other in among if other.algorithm == cell.algorithm]
    parts = []
    if len({other.method for other in alike}) > 1:
        parts.append(cell.method)
    if len({other.variant for other in alike}) > 1:
        parts.append(cell.variant or "default")
    text = name_of(cell.algorithm) + (f" ({', '.join(parts)})" if parts else "")
    return short_name(text, 48)


def _cell(
    name: tuple[str, str, str, str], variant: str, members: list[Record], seeds: set[int]
) -> Cell:
    latest = {run.seed: run for run in members if run.done and run.seed is not None}
    unseeded = [run for run in members if run.done and run.seed is None]
    failed = [run for run in members if not run.done and run.seed not in latest]
    tried = {run.seed for run in members}
    return Cell(
        *name,
        variant,
        runs=(*latest.values(), *unseeded),
        failed=tuple(failed),
        missing=tuple(sorted(seeds - tried)),
    )


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Write a nested configuration as dotted keys.

    >>> flat({"network": {"k": 15}, "lr": 0.001})
    {'network.k': 15, 'lr': 0.001}
    """
    pairs: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            pairs |= flat(value, f"{prefix}{key}.")
        else:
            pairs[f"{prefix}{key}"] = value
    return pairs


def _plain(run: Record) -> dict[str, Any]:
    """Return the configuration without what names the cell and without seeds."""
    return {
        key: value
        for key, value in flat(run.config).items()
        if key.rsplit(".", 1)[-1] != "seed" and key not in _NAMED
    }


def _signature(run: Record) -> str:
    return json.dumps(_plain(run), sort_keys=True, default=str)


def _variants(firsts: list[Record]) -> list[str]:
    """Say in what the configurations of one cell's variants differ."""
    if len(firsts) == 1:
        return [""]
    configs = [_plain(run) for run in firsts]
    keys = {key for config in configs for key in config}
    differing = sorted(
        key for key in keys if len({json.dumps(c.get(key), default=str) for c in configs}) > 1
    )
    plain = ", ".join(f"{key} by default" for key in differing)
    return [
        ", ".join(f"{key}={config[key]}" for key in differing if key in config) or plain
        for config in configs
    ]
