"""Records run again: equal here, within the spread of their seeds elsewhere, or apart."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.study.conftest import invoke, said_before, tiny

from sffa.errors import DataError, SFFAError
from sffa.record import Record
from sffa.study import execute, export_csv
from sffa.study.rerun import rerun


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [execute(tiny(seed=seed, epochs=1).values) for seed in (0, 1, 2)]


def moved(record: Record, points: float) -> Record:
    return replace(record, metrics={**record.metrics, "acc": record.metrics["acc"] + points})


def test_the_same_machine_comes_to_the_same_bits(records: list[Record]) -> None:
    again = list(rerun(records))
    assert [one.verdict for one in again] == ["equal"] * 3
    assert {one.before.seed for one in again} == {0, 1, 2}


def test_what_differs_is_judged_by_the_spread_of_its_other_seeds(records: list[Record]) -> None:
    wide = [moved(record, points) for record, points in zip(records, (0.5, 9.0, -9.0), strict=True)]
    verdicts = {one.before.seed: one.verdict for one in rerun(wide)}
    assert verdicts[0] == "within"
    far = [moved(records[0], 50.0), *records[1:]]
    assert {one.before.seed: one.verdict for one in rerun(far)}[0] == "apart"


def test_with_too_few_seeds_it_is_open(records: list[Record]) -> None:
    (one,) = rerun([moved(records[0], 0.5)])
    assert (one.verdict, one.spread) == ("open", None)
    assert one.difference == pytest.approx(-0.5)


def test_the_draw_follows_its_seed(records: list[Record]) -> None:
    drawn = [[one.before.seed for one in rerun(records, 1, seed)] for seed in (0, 0, *range(1, 6))]
    assert drawn[0] == drawn[1]
    assert len({seed for (seed,) in drawn}) > 1


@pytest.mark.parametrize(
    "changes", [{"dataset": None}, {"epoch": 3}, {"seed": 7}, {"scenario": "nowhere"}]
)
def test_records_that_are_not_of_their_configuration_are_left_out(
    records: list[Record], changes: dict[str, Any]
) -> None:
    config = {**records[0].config, **changes}
    odd = replace(records[0], config={name: v for name, v in config.items() if v is not None})
    with pytest.raises(DataError, match="no finished record"):
        list(rerun([odd]))


def test_classes_that_a_record_names_are_not_imported(records: list[Record]) -> None:
    named = replace(records[0], config={**records[0].config, "optimizer": "nowhere:Nothing"})
    with pytest.raises(DataError, match="no finished record"):
        list(rerun([named]))


def test_the_command_says_how_many_agree_and_fails_if_one_does_not(
    records: list[Record], home: Path
) -> None:
    export_csv(home / "r.csv", records)
    said = invoke("study", "rerun", "r.csv", "--runs", "1", "--out", "again.csv")
    assert "1 equal, 0 within 2 standard deviations of their seeds, 0 apart, 0 open" in said
    with (home / "again.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["verdict"] == "equal"
    export_csv(home / "r.csv", [moved(records[0], 50.0), *records[1:]])
    with pytest.raises(SystemExit) as stopped:
        invoke("study", "rerun", "r.csv")
    assert stopped.value.code == 1
    assert "2 equal, 0 within 2 standard deviations of their seeds, 1 apart" in said_before(stopped)
    assert "mean difference -16.67 points [-88.38, +55.04]" in said_before(stopped)


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(home: Path) -> None:
    with pytest.raises(SFFAError):
        invoke("study", "rerun", "nowhere.csv", "--out", home)
