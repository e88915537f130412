"""Cells: runs that differ in their seed only, with their mean, spread, and the seeds they lack."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sffa.report.records import Run, flat
from sffa.report.style import name_of, short_name
from sffa.study.compare import mean_and_sem

_NAMED = ("dataset", "scenario", "method", "algorithm")


@dataclass(frozen=True)
class Summary:
    """Mean and standard error over seeds; no error with fewer than two."""

    mean: float
    sem: float | None
    count: int


@dataclass(frozen=True)
class Cell:
    """One configuration: its finished runs, its failed ones, and the seeds that others have."""

    dataset: str
    scenario: str
    method: str
    algorithm: str
    variant: str
    runs: tuple[Run, ...]
    failed: tuple[Run, ...]
    missing: tuple[int, ...]

    def summary(self, metric: str) -> Summary | None:
        """Summarise a metric over the finished runs that have it."""
        values = [run.metrics[metric] for run in self.runs if metric in run.metrics]
        return Summary(*mean_and_sem(values), len(values)) if values else None


def cells(runs: Sequence[Run]) -> list[Cell]:
    """Group runs, in their order, into cells.

    Runs of one name whose configurations differ in more than the seed are never averaged: they
    become cells of their own, with the difference as ``variant``. A seed that the other cells of
    the same dataset and scenario have is missing here. Of two finished runs of one seed the
    later one counts.
    """
    wanted: dict[tuple[str, str], set[int]] = defaultdict(set)
    for run in runs:
        if run.seed is not None:
            wanted[run.dataset, run.scenario].add(run.seed)
    found = []
    for name, group in groupby(runs, key=_name):
        by_config: dict[str, list[Run]] = defaultdict(list)
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


def _cell(name: tuple[str, ...], variant: str, members: list[Run], seeds: set[int]) -> Cell:
    latest = {run.seed: run for run in members if run.done and run.seed is not None}
    unseeded = [run for run in members if run.done and run.seed is None]
    failed = [run for run in members if not run.done and run.seed not in latest]
    tried = {run.seed for run in members}
    dataset, scenario, method, algorithm = name
    return Cell(
        dataset,
        scenario,
        method,
        algorithm,
        variant,
        runs=(*latest.values(), *unseeded),
        failed=tuple(failed),
        missing=tuple(sorted(seeds - tried)),
    )


def _name(run: Run) -> tuple[str, ...]:
    return run.dataset, run.scenario, run.method, run.algorithm


def _plain(run: Run) -> dict[str, Any]:
    """Return the configuration without what names the cell and without seeds."""
    return {
        key: value
        for key, value in flat(run.config).items()
        if key.rsplit(".", 1)[-1] != "seed" and key not in _NAMED
    }


def _signature(run: Run) -> str:
    return json.dumps(_plain(run), sort_keys=True, default=str)


def _variants(firsts: list[Run]) -> list[str]:
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
