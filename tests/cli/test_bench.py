"""The command that measures speed: that it measures and tells what was asked for, not how fast."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

QUICK = ("--rounds", 3, "--seconds", 0, "--threads", 1)
TWO = ("--only", "backprop", "--only", "sffa")


def test_a_benchmark_has_a_row_for_each_contender_and_is_written_as_it_is_printed(
    sffa: Run, tmp_path: Path
) -> None:
    done = sffa("bench", "--no-sweep", "--no-memory", *QUICK, *TWO, "--json", "--out", "b.json")
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert json.loads((tmp_path / "b.json").read_text()) == rows
    assert sorted({row["contender"] for row in rows}) == ["backprop", "sffa"]
    assert len(rows) == 4  # a step and a prediction of each
    assert {row["peak_mb"] for row in rows} == {None}


def test_a_benchmark_is_printed_as_a_table(sffa: Run) -> None:
    done = sffa("bench", "--no-sweep", "--no-memory", *QUICK, *TWO)
    assert done.code == 0, done.err
    assert "10 labels, width 1400, batch 512" in done.out
    assert "sffa" in done.out


@pytest.mark.slow
def test_everyday_sizes_are_measured_in_processes_of_their_own(sffa: Run) -> None:
    done = sffa("bench", "--alone", "--size", 1, *QUICK, "--only", "sffa", "--json")
    assert done.code == 0, done.err
    assert "sffa" in {row["contender"] for row in json.loads(done.out)}
