"""The best settings of each cell: chosen on held-out examples, reported on test examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sffa.errors import DataError
from sffa.record import Record
from sffa.report.cells import Cell, cells
from sffa.study.statistics import Summary, summarise

CHOSEN_BY = "accuracy on held-out training examples; test accuracy is that of the choice"


@dataclass(frozen=True)
class Choice:
    """What was chosen among ``tried`` settings of one cell, over the seeds that all have."""

    cell: Cell
    tried: int
    seeds: tuple[int, ...]
    held: Summary
    test: Summary


def held_accuracy(record: Record) -> float | None:
    """Return the accuracy on held-out examples by which a run is judged, if it has one.

    Of a static run it is that of its best epoch, which is also the one reported.
    """
    if not record.static:
        return record.metrics.get("val_acc")
    points = record.details.get("curve") or []
    held = [p.get("validation") for p in points if isinstance(p, dict)]
    known = [float(value) for value in held if isinstance(value, int | float)]
    return max(known) if known else None


def choices(records: Iterable[Record]) -> list[Choice]:
    """Return the best settings of each dataset, scenario, method and algorithm.

    Settings are compared on the mean over the seeds that all of a cell's settings have.
    """
    found = []
    groups = [cell for cell in cells(records) if cell.runs]
    for _, alike in groupby(groups, key=lambda cell: cell.place):
        found.append(_choice(list(alike)))
    if not found:
        raise DataError("there is no finished run to choose from")
    return found


def _choice(alike: Sequence[Cell]) -> Choice:
    by_seed = [{run.seed: run for run in cell.runs if run.seed is not None} for cell in alike]
    shared = sorted(set.intersection(*({*runs} for runs in by_seed)))
    if not shared:
        raise DataError(f"the settings of {' '.join(alike[0].place)} have no seed in common")
    judged = []
    for cell, runs in zip(alike, by_seed, strict=True):
        held = [held_accuracy(runs[seed]) for seed in shared]
        known = [value for value in held if value is not None]
        if len(known) < len(held):
            raise DataError(
                f"{' '.join(cell.place)} held no examples out, and choosing on test accuracy is "
                "not honest: run it with holdout=0.1"
            )
        summary = summarise(known)
        test = summarise([runs[seed].metrics["acc"] for seed in shared])
        assert summary is not None
        assert test is not None
        judged.append(Choice(cell, len(alike), tuple(shared), summary, test))
    return max(judged, key=lambda choice: choice.held.mean)
