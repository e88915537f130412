"""Ours against the paper's: the difference, and whether it is more than the seeds explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sffa.report.cells import Cell, Summary
from sffa.study.compare import within
from sffa.study.configuration import config_hash
from sffa.study.paper import published
from sffa.study.presets import hashes

Verdict = Literal["better", "worse", "same", "open", ""]
LOWER_IS_BETTER = frozenset({"fgt"})


@dataclass(frozen=True)
class Comparison:
    """One metric of a cell beside the paper's value, in percent or points."""

    metric: str
    ours: Summary | None
    paper: float | None
    paper_sem: float | None

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        if self.ours is None or self.paper is None:
            return None
        return self.ours.mean - self.paper

    @property
    def verdict(self) -> Verdict:
        """Say ``same`` within two combined standard errors, else which way.

        ``open`` is what cannot be judged: one seed, or a number of the paper without an error.

        >>> Comparison("acc", Summary(90.5, 0.2, 10), 90.0, 0.24).verdict
        'same'
        >>> Comparison("fgt", Summary(5.0, 0.2, 10), 9.0, None).verdict
        'open'
        """
        gap = self.difference
        if gap is None or self.ours is None:
            return ""
        near = within(gap, self.ours.sem, self.paper_sem)
        if near is None:
            return "open"
        if near:
            return "same"
        return "better" if (gap > 0) != (self.metric in LOWER_IS_BETTER) else "worse"


def compare(cell: Cell, metric: str) -> Comparison:
    """Put a cell's metric beside the paper's, where it has one."""
    dataset = cell.dataset
    if cell.scenario != "static" and not dataset.startswith("split-"):
        dataset = f"split-{dataset}"
    found = published((dataset, cell.scenario, cell.method, cell.algorithm), metric)
    mean, sem = found if found is not None else (None, None)
    return Comparison(metric, cell.summary(metric), mean, sem)


def as_paper(cell: Cell) -> bool:
    """Whether a cell was run exactly as the preset that stands for the paper."""
    return _is_of(cell, "rq1", "rq2")


def as_ours(cell: Cell) -> bool:
    """Whether a cell was run exactly as the preset of what we add to the paper."""
    return _is_of(cell, "ours")


def _is_of(cell: Cell, *studies: str) -> bool:
    runs = (*cell.runs, *cell.failed)
    return bool(runs) and any(config_hash(runs[0].config) in hashes(name) for name in studies)
