"""What results cost: a study that was begun is counted as a whole, by medians."""

from __future__ import annotations

from sffa.record import Record
from sffa.report.costs import costs_section
from sffa.report.sections import TextTable
from sffa.study import parse


def made(seed: int, seconds: float, **settings: object) -> Record:
    run = parse({"scenario": "class", "dataset": "split-mnist", "seed": seed, **settings})
    return Record(*run.cell, seed=seed, config=run.values, metrics={"acc": 1.0}, seconds=seconds)


def tables(records: list[Record]) -> list[list[list[str]]]:
    return [part.rows for part in costs_section(records).parts if isinstance(part, TextTable)]


def test_a_study_that_was_begun_is_counted_as_a_whole_on_two_cores() -> None:
    seconds = (60.0, 60.0, 6000.0)  # the last one was paused
    _, studies = tables([made(seed, taken) for seed, taken in enumerate(seconds)])
    assert studies == [["sffa reproduce rq2", "1,080", "9.0 h"]]


def test_a_record_of_which_little_is_known_is_counted() -> None:
    bare = Record("mnist", "static", "", "sffa", 0, {}, metrics={"acc": 1.0}, seconds=3.0)
    assert len(tables([bare])) == 1


def test_runs_of_no_study_are_counted_alone() -> None:
    found = tables([made(0, 60.0, epochs=7)])
    assert len(found) == 1
    assert found[0][0][2:5] == ["1", "60 s", "60 s"]
