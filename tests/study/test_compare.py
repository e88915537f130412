from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.study.conftest import result_of

from sffa.study import Record, StudyError, compare_all, export_csv, parse, read_records, studies
from sffa.study.compare import Comparison, as_csv, as_markdown, write_comparison
from sffa.study.paper import published, tables
from sffa.study.statistics import Summary


def record(accuracy: float, seed: int, **changes: object) -> Record:
    values = {"scenario": "class", "method": "replay", "algorithm": "sffa", "seed": seed}
    run = parse({**values, **changes})
    return result_of(run, metrics={"acc": accuracy, "fgt": 10.0, "fwt": -16.0})


def static(best: float, seed: int) -> Record:
    run = parse({"scenario": "static", "dataset": "fmnist", "algorithm": "sffa", "seed": seed})
    return result_of(run, metrics={"acc": 1.0, "best": best})


def line(lines: list[Comparison], metric: str) -> Comparison:
    (found,) = (one for one in lines if one.metric == metric)
    return found


def test_mean_error_and_difference_are_those_of_the_definition() -> None:
    """The paper: 90.03 ± 0.24. Ours: 90, 92 -> 91 ± 1; |0.97| <= 2 √(1 + 0.24²)."""
    found = line(compare_all([record(90.0, 0), record(92.0, 1)]), "acc")
    assert found.ours == Summary(91.0, 1.0, 2)
    assert (found.paper, found.paper_sem) == (90.03, 0.24)
    assert found.difference == pytest.approx(0.97)
    assert found.within is True
    assert found.as_paper


def test_a_difference_beyond_two_combined_errors_does_not_fit() -> None:
    """2 √(0.1² + 0.24²) = 0.52."""
    near = compare_all([record(90.4, 0), record(90.6, 1)])
    far = compare_all([record(90.5, 0), record(90.7, 1)])
    assert line(near, "acc").within is True
    assert line(far, "acc").within is False


def test_one_seed_cannot_be_judged() -> None:
    found = line(compare_all([record(90.0, 0)]), "acc")
    assert found.ours is not None
    assert found.ours.sem is None
    assert found.within is None


def test_static_runs_are_compared_as_the_paper_counts_by_their_best_epoch() -> None:
    (found,) = compare_all([static(89.0, 0), static(89.4, 1)])
    assert (found.metric, found.paper, found.paper_sem) == ("best", 89.39, None)
    assert found.ours is not None
    assert math.isclose(found.ours.mean, 89.2)


def test_two_configurations_of_a_cell_stay_apart_and_the_papers_is_told() -> None:
    lines = [
        one for one in compare_all([record(90, 0), record(50, 0, epochs=1)]) if one.metric == "acc"
    ]
    assert sorted((one.ours.mean, one.as_paper) for one in lines if one.ours) == [
        (50, False),
        (90, True),
    ]
    assert "sffa*" in as_markdown(lines)


def test_every_number_of_the_papers_tables_is_found_under_our_names() -> None:
    cells = {run.cell for study in studies("all") for run in study.runs()}
    for cell in cells:
        wanted = ("best",) if cell[1] == "static" else ("acc", "fgt", "fwt")
        for metric in wanted:
            assert published(cell, metric) is not None, (cell, metric)
    assert len(cells) == 12 + 108
    assert tables()["hoyer"]


def test_failed_runs_and_cells_the_paper_lacks_are_left_out() -> None:
    failed = replace(record(1.0, 0), status="failed")
    assert compare_all([failed, record(1.0, 0, algorithm="sffa-gated")]) == []


def test_tables_can_be_written_and_read_and_work_from_csv_alone(tmp_path: Path) -> None:
    export_csv(tmp_path / "r.csv", [record(90.0, 0), record(92.0, 1)])
    lines = compare_all(read_records(tmp_path / "r.csv"))
    assert lines == compare_all([record(90.0, 0), record(92.0, 1)])
    write_comparison(tmp_path / "c.csv", lines)
    rows = list(csv.DictReader(as_csv(lines).splitlines()))
    assert float(rows[0]["difference"]) == lines[0].difference
    write_comparison(tmp_path / "c.md", lines)
    text = (tmp_path / "c.md").read_text()
    assert "| split-mnist | class | replay | sffa | acc | 2 | 91.00 ± 1.00 | 90.03 ± 0.24 |" in text
    with pytest.raises(StudyError, match=r"\.csv or \.md"):
        write_comparison(tmp_path / "c.txt", lines)
