"""The ledger: every cell is in it, whatever became of it, with the command that makes it again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.study.conftest import result_of
from typer.testing import CliRunner

from sffa.cli.app import app
from sffa.record import Record
from sffa.report.ledger import ledger
from sffa.report.sections import TextTable
from sffa.study import Run, export_csv
from sffa.study.presets import RQ2


def runs(algorithm: str, seeds: tuple[int, ...]) -> list[Run]:
    found = RQ2.restricted(
        seeds=seeds,
        dataset=["split-mnist"],
        scenario=["class"],
        method=["replay"],
        algorithm=[algorithm],
    )
    return found.runs()


@pytest.fixture(scope="module")
def records() -> list[Record]:
    about = {
        "finished": "2026-11-16T04:15:53+00:00",
        "environment": {"commit": "abcdef0123+", "machine": {"cpu": "Intel(R) Xeon(R) Processor"}},
    }
    good = [
        result_of(run, metrics={"acc": 90.0 + n / 10}, **about)
        for n, run in enumerate(runs("sffa", (0, 1, 4)))
    ]
    ffa = [
        result_of(run, metrics={"acc": 85.0 + n / 10}, **about)
        for n, run in enumerate(runs("ffa", (0, 1)))
    ]
    bad = [
        result_of(run, status="failed", metrics={}, error="the loss is nan: lower lr")
        for run in runs("bp", (0,))
    ]
    return [*good, *ffa, *bad]


@pytest.fixture(scope="module")
def rows(records: list[Record]) -> dict[str, list[list[str]]]:
    found = {}
    for section in ledger(records):
        (table,) = [part for part in section.parts if isinstance(part, TextTable)]
        found[section.title] = [list(row) for row in table.rows]
    return found


def row(rows: dict[str, list[list[str]]], algorithm: str) -> list[str]:
    wanted = ["Split-MNIST", "Class IL", "Replay", algorithm]
    return next(line for line in rows["RQ2: streams"] if line[:4] == wanted)


def test_every_cell_of_the_paper_has_a_row(rows: dict[str, list[list[str]]]) -> None:
    assert len(rows["RQ1: static datasets"]) == 12
    assert len(rows["RQ2: streams"]) == 108


def test_a_row_says_what_came_of_it_when_from_what_and_how(
    rows: dict[str, list[list[str]]],
) -> None:
    assert row(rows, "SFFA")[4:] == [
        *("90.03 ± 0.24", "90.10 ± 0.06", "3", "within two errors (+0.07)", "0"),
        *("2026-11-16", "abcdef01", "Intel Xeon"),
        "sffa reproduce rq2 --datasets split-mnist --scenarios class --methods replay "
        "--algorithms sffa --seeds 0,1,4",
    ]


def test_failures_are_shown_with_their_reason(rows: dict[str, list[list[str]]]) -> None:
    found = row(rows, "Back-propagation")
    assert found[7] == "not run"
    assert found[8] == "1: seed 0: the loss is nan: lower lr"


def test_a_verdict_that_hangs_on_the_papers_errors_says_so(
    rows: dict[str, list[list[str]]],
) -> None:
    """FFA: 81.28 ± 2.74 against 85.05 ± 0.05."""
    assert row(rows, "FFA")[7] == (
        "within two errors (+3.77) but not if the paper's ± is a standard deviation"
    )


def test_the_command_writes_it_and_its_own_name(
    records: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    export_csv("r.csv", records)
    done = CliRunner().invoke(app, ["study", "ledger", "r.csv", "--out", "L.md"])
    assert done.exit_code == 0, done.output
    text = Path("L.md").read_text()
    assert "Made by `sffa study ledger r.csv --out L.md`." in text
    assert "1 runs failed." in text
    refused = CliRunner().invoke(app, ["study", "ledger", "r.csv", "--out", "L.txt"])
    assert ".md or .tex" in str(refused.exception)


def test_other_settings_than_the_presets_are_named_and_not_held_against_the_paper(rows) -> None:
    wanted = ["Split-MNIST", "Class IL", "Replay (replay.capacity=2115)", "SFFA"]
    found = [line for line in rows["Class IL without stored examples"] if line[:4] == wanted]
    assert len(found) == 1
    assert found[0][4] == "–"
    assert found[0][-1].endswith("--set replay.capacity=2115")
