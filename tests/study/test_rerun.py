"""Records run again: equal here, within the spread of their seeds elsewhere, or apart."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from tests.study.conftest import invoke, said_before, tiny

from sffa.errors import DataError
from sffa.record import Record
from sffa.study import execute, export_csv
from sffa.study.rerun import rerun


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [execute(tiny(seed=seed, epochs=1).values) for seed in (0, 1)]


def moved(record: Record, points: float) -> Record:
    return replace(record, metrics={**record.metrics, "acc": record.metrics["acc"] + points})


def test_the_same_machine_comes_to_the_same_bits(records: list[Record]) -> None:
    again = list(rerun(records))
    assert [one.verdict for one in again] == ["equal", "equal"]
    assert {one.before.seed for one in again} == {0, 1}


def test_what_differs_is_judged_by_the_spread_of_the_seeds(records: list[Record]) -> None:
    spread = [moved(records[0], 3.0), moved(records[1], -3.0)]
    assert {one.verdict for one in rerun(spread)} == {"within"}
    (apart,) = rerun([moved(records[0], 0.5)])
    assert (apart.verdict, apart.spread) == ("apart", None)
    assert apart.difference == pytest.approx(-0.5)


def test_the_draw_follows_its_seed(records: list[Record]) -> None:
    drawn = [[one.before.seed for one in rerun(records, 1, seed)] for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert {seed for (seed,) in drawn} == {0, 1}


def test_classes_that_a_record_names_are_not_imported(records: list[Record]) -> None:
    named = replace(records[0], config={**records[0].config, "optimizer": "nowhere:Nothing"})
    with pytest.raises(DataError, match="no finished record"):
        list(rerun([named]))


def test_the_command_says_how_many_agree_and_fails_if_one_does_not(
    records: list[Record], home: Path
) -> None:
    export_csv(home / "r.csv", records)
    said = invoke("study", "rerun", "r.csv", "--runs", "1", "--out", "again.csv")
    assert "1 equal, 0 within 2 standard deviations of their seeds, 0 apart" in said
    with (home / "again.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["verdict"] == "equal"
    export_csv(home / "r.csv", [moved(records[0], 1.0)])
    with pytest.raises(SystemExit) as stopped:
        invoke("study", "rerun", "r.csv")
    assert stopped.value.code == 1
    assert "0 equal, 0 within 2 standard deviations of their seeds, 1 apart" in said_before(stopped)
