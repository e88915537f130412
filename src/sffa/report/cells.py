"""Cells: runs that differ in their seed only, with their mean, spread, and the seeds they lack."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sffa.record import Record
from sffa.report.style import short_name
from sffa.report.variants import deviations, settings, variant_names
from sffa.study.compare import Comparison, compare, is_of
from sffa.study.statistics import Summary, summarise
from sffa.vocabulary import cell_rank, name_of


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

    def by_seed(self, metric: str) -> dict[int, float]:
        """Return a metric of the finished runs by their seeds, as pairing needs it."""
        return {
            run.seed: run.metrics[metric]
            for run in self.runs
            if run.seed is not None and metric in run.metrics
        }

    def compare(self, metric: str) -> Comparison:
        """Put a metric beside the paper's, where it has one."""
        return compare(self.runs or self.failed, metric)

    @property
    def deviations(self) -> dict[str, Any]:
        """The settings in which it differs from its preset."""
        return deviations((self.runs or self.failed)[0])

    def is_of(self, *studies: str) -> bool:
        """Whether it was run exactly as one of these studies does."""
        return is_of((self.runs or self.failed)[0], *studies)


def ordered(records: Iterable[Record]) -> list[Record]:
    """Sort as the paper does: dataset, scenario, method, algorithm; then by seed."""
    return sorted(records, key=lambda r: (cell_rank(r.cell), -1 if r.seed is None else r.seed))


def cells(records: Iterable[Record]) -> list[Cell]:
    """Group records, in the paper's order, into cells.

    Runs of one name whose configurations differ in more than the seed are never averaged: they
    stay apart as cells, with what differs from the preset as ``variant``. A seed that the other
    cells of the same dataset and scenario have is missing here. Of two finished runs of one seed
    the later one counts.
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
        variants = variant_names([members[0] for members in by_config.values()])
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


def _signature(run: Record) -> str:
    return json.dumps(settings(run), sort_keys=True, default=str)
