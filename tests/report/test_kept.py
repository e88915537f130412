"""Accuracy beside what is kept: the right megabytes, the best first, paired differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sffa.record import Record
from sffa.report import figures, write_markdown
from sffa.report.cells import cells
from sffa.report.kept import kept, others_of_the_paper
from sffa.study import parse


def made(
    method: str,
    algorithm: str,
    seed: int,
    acc: float,
    settings: dict[str, Any] | None = None,
    **end: float,
) -> Record:
    run = parse(
        {
            **{"scenario": "class", "dataset": "split-mnist", "method": method},
            **{"algorithm": algorithm, "seed": seed, **(settings or {})},
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


def test_joint_training_is_a_bound_and_not_what_others_are_compared_with(tmp_path: Path) -> None:
    joint = [made("joint", "bp", s, 98.0 + s, strategy_mb=37.4) for s in (0, 1)]
    text = write_markdown(tmp_path / "R.md", [*RECORDS, *joint]).read_text().replace("\\", "")
    bound, best = (
        "| Joint | Back-propagation | 2 | 98.50",
        "| Gaussian | SFFA, contrast | 2 | 96.50",
    )
    assert f"{bound} ± 0.50 | 1.00 ± 0.00 | 37.40 | 10 | **+2.00 [" in text
    assert f"{best} ± 0.50 | 1.00 ± 0.00 | 1.50 | 10 | – |" in text


def test_a_dataset_with_nothing_but_the_bound_is_shown(tmp_path: Path) -> None:
    bound = made("joint", "bp", 0, 88.0, {"dataset": "split-fmnist"}, strategy_mb=37.4)
    text = write_markdown(tmp_path / "R.md", [*RECORDS, bound]).read_text()
    assert "| Split-FMNIST | Joint | Back-propagation | 1 | 88.00 |" in text


@pytest.mark.parametrize("odd", [{"a": 1}, [1], "x", [{"strategy_mb": None}], []])
def test_records_that_do_not_tell_what_they_keep_are_left_out(odd: Any, tmp_path: Path) -> None:
    record = made("ewc", "sffa", 0, 20.0)
    record.details["experiences"] = odd
    text = write_markdown(tmp_path / "R.md", [*RECORDS, record]).read_text()
    assert "Class IL by what is kept" in text


def test_the_papers_other_methods_stand_beside_in_the_figure() -> None:
    groups = cells([*RECORDS, *(made("ewc", "ffa", s, 20.0, strategy_mb=51.0) for s in (0, 1))])
    beside = others_of_the_paper(groups)
    assert [(each.cell.method, each.megabytes) for each in beside] == [("ewc", 51.0)]
    drawing = figures.kept_figure([*kept(groups), *beside])
    assert drawing is not None
    assert "split-mnist,ewc,ffa,,20,0,51,2" in drawing.csv


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


def test_the_table_tells_settings_apart(tmp_path: Path) -> None:
    larger = {"options": {"replay.capacity": 2115}}
    current = {"network": {"contrast_with": "current"}}
    records = [
        *RECORDS,
        *(made("replay", "sffa", s, 94.0 + s, larger, strategy_mb=1.65) for s in (0, 1)),
        *(made("naive", "bp", s, 36.0 + s, current, strategy_mb=0.0) for s in (0, 1)),
    ]
    text = write_markdown(tmp_path / "R.md", records).read_text()
    table = text.partition("Class IL by what is kept")[2].partition("##")[0].replace("\\", "")
    assert "| Replay (capacity=2115) | SFFA | 2 | 94.50 ± 0.50 |" in table
    assert "| Replay | SFFA | 2 | 90.50 ± 0.50 |" in table
    assert "| Naive (contrast_with=current) | Back-propagation | 2 | 36.50 ± 0.50 |" in table
    drawing = figures.kept_figure(kept(cells(records)))
    assert drawing is not None
    rows = drawing.csv.splitlines()
    assert [row.split(",")[3] for row in rows[1:] if ",replay," in row] == ["capacity=2115", ""]


def test_other_scenarios_stand_in_a_table_of_their_own_beside_replay(tmp_path: Path) -> None:
    records = [
        made(method, "sffa", seed, acc + seed, {"scenario": "domain"}, strategy_mb=kept_mb)
        for method, acc, kept_mb in (
            *(("gaussian", 96.0, 1.65), ("replay", 94.0, 0.39), ("naive", 70.0, 0.0)),
        )
        for seed in (0, 1)
    ]
    ridge = {"scenario": "domain"}
    records += [made("naive", "ridge", seed, 95.0, ridge, learner_mb=7.5) for seed in (0, 1)]
    text = write_markdown(tmp_path / "R.md", records).read_text().replace("\\", "")
    row = "| Split-MNIST | Domain IL | SFFA | 96.50 ± 0.50 | 2 | 1.65 | 94.50 ± 0.50 | 2 | 0.39 |"
    assert f"{row} 70.50 ± 0.50 | 2 | 0.00 | **+2.00 [+2.00, +2.00]** |" in text, text
    assert "| Ridge | – | 0 | – | – | 0 | – | 95.00 ± 0.00 | 2 | 7.50 | – |" in text, text
