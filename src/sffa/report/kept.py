"""What a method keeps of the past, beside what it reaches: accuracy against megabytes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from sffa.report.cells import Cell
from sffa.study.statistics import Summary

CLOSED = ("ridge", "slda")


@dataclass(frozen=True)
class Kept:
    """One cell of Class IL: ``megabytes`` of examples or statistics, means over its seeds.

    Of a learner in closed form the statistics are the learner; ``seconds`` are by the clock.
    """

    cell: Cell
    accuracy: Summary
    forgetting: Summary | None
    megabytes: float
    seconds: float


def kept(cells: Sequence[Cell]) -> list[Kept]:
    """Return the cells of the study `remember`, those of a dataset together, the best first.

    It shares cells with the paper's study, so without a cell of `gaussian` there are none.
    """
    if not any(cell.method == "gaussian" for cell in cells):
        return []
    found = []
    for cell in cells:
        accuracy = cell.summary("acc")
        if accuracy is None or not cell.is_of("remember"):
            continue
        ends = [(run.details.get("experiences") or [{}])[-1] for run in cell.runs]
        key = "learner_mb" if cell.algorithm in CLOSED else "strategy_mb"
        megabytes = statistics.fmean(float(end.get(key, 0.0)) for end in ends)
        seconds = statistics.median(run.seconds or 0.0 for run in cell.runs)
        found.append(Kept(cell, accuracy, cell.summary("fgt"), megabytes, seconds))
    return sorted(found, key=lambda each: (each.cell.dataset, -each.accuracy.mean))
