"""Accuracy beside what is kept: the right megabytes, the best first, paired differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from sffa.record import Record
from sffa.report import figures, write_markdown
from sffa.report.cells import cells
from sffa.report.kept import kept
from sffa.study import parse


def made(method: str, algorithm: str, seed: int, acc: float, **end: float) -> Record:
    run = parse(
        {
            **{"scenario": "class", "dataset": "split-mnist", "method": method},
            **{"algorithm": algorithm, "seed": seed},
        }
    )
    return Record(
        *run.cell,
        seed=seed,
        config=run.values,
        metrics={"acc": acc, "fgt": 1.0},
        details={"experiences": [end], "matrix": [[0.0]], "curve": [acc]},
        seconds=10.0,
    )


RECORDS = [
    *(made("gaussian", "sffa-contrast", s, 96.0 + s, strategy_mb=1.5) for s in (0, 1)),
    *(made("replay", "sffa", s, 90.0 + s, strategy_mb=0.4) for s in (0, 1)),
    *(made("naive", "ridge", s, 94.0, strategy_mb=0.0, learner_mb=7.5) for s in (0, 1)),
]


def test_cells_come_with_what_they_keep_the_best_first() -> None:
    found = kept(cells(RECORDS))
    assert [each.cell.algorithm for each in found] == ["sffa-contrast", "ridge", "sffa"]
    assert [each.megabytes for each in found] == pytest.approx([1.5, 7.5, 0.4])


def test_other_configurations_are_left_out() -> None:
    other = parse({"scenario": "class", "method": "gaussian", "epochs": 5})
    record = Record(*other.cell, seed=0, config=other.values, metrics={"acc": 1.0})
    assert kept(cells([record])) == []
    assert figures.kept_figure([]) is None


def test_the_table_pairs_differences_by_seed(tmp_path: Path) -> None:
    text = write_markdown(tmp_path / "R.md", RECORDS).read_text()
    assert "| Split-MNIST | Gaussian | SFFA, contrast | 2 | 96.50 ± 0.50 |" in text
    assert "6.00 [" in text.replace("\\", ""), text
    assert (tmp_path / "figures" / "kept.svg").is_file()
