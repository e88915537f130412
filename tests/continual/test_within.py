"""Accuracy within experiences: whole, resumable, and of no influence on what is learned."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from sffa.continual import ContinualConfig, Stopped, Within, run
from sffa.core import Callback, Progress
from sffa.data import Dataset, load
from sffa.errors import ConfigurationError
from sffa.record import Record

CONFIG = ContinualConfig(
    dataset="digits", method="replay", hidden=(60, 60), epochs=2, batch_size=64, network={"k": 5}
)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="module")
def record(digits: Dataset) -> Record:
    return run(CONFIG, digits, callbacks=[Within(points=3)]).record()


def test_points_are_evenly_spaced_and_end_where_the_epochs_do(
    record: Record, digits: Dataset
) -> None:
    points = record.details["within"]
    assert len(points) == 3 * 2 * 5
    assert [point["experience"] for point in points] == sorted(p["experience"] for p in points)
    assert points[-1]["examples"] == 2 * len(digits.train.y)
    steps = [b["examples"] - a["examples"] for a, b in pairwise(points)]
    assert all(0 < step <= 3 * 64 for step in steps)
    assert all(point["loss"] > 0 and point["memory_mb"] > 0 for point in points)


def test_the_last_point_of_an_experience_is_the_row_of_the_matrix(record: Record) -> None:
    rows = record.details["matrix"]
    for done in range(1, 6):
        last = [p for p in record.details["within"] if p["experience"] == done][-1]
        assert last["row"] == rows[done]
        assert last["accuracy"] == pytest.approx(record.details["curve"][done - 1])


def test_looking_changes_nothing(record: Record, digits: Dataset) -> None:
    plain = run(CONFIG, digits)
    assert plain.rows == record.details["matrix"]
    assert plain.record().config_hash == record.config_hash
    assert "within" not in plain.record().details


def test_a_run_that_was_stopped_within_an_epoch_has_the_same_points(
    record: Record, digits: Dataset, tmp_path: Path
) -> None:
    class StopAt(Callback):
        def on_batch_end(self, progress: Progress) -> bool:
            return progress.step == 13

    path = tmp_path / "checkpoint.safetensors"
    with pytest.raises(Stopped):
        run(CONFIG, digits, callbacks=[Within(points=3), StopAt()], checkpoint=path)
    again = run(CONFIG, digits, callbacks=[Within(points=3)], checkpoint=path).record()
    assert again.outcome() == record.outcome()
    seconds = [point["seconds"] for point in again.details["within"]]
    assert seconds == sorted(seconds)


def test_the_points_survive_a_csv_and_are_drawn(record: Record) -> None:
    from sffa.report.cells import cells
    from sffa.report.figures import within

    back = Record.from_cells(record.cells())
    assert back.details["within"] == record.details["within"]
    (drawing,) = within(cells([back]))
    assert len(drawing.csv.splitlines()) == 1 + 2 * 30
    assert drawing.name == "within-digits-class"


def test_no_points_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="points"):
        Within(points=0)


def test_multiply_adds_are_in_every_experience(record: Record) -> None:
    counts = [part["multiply_adds"]["predict"] for part in record.details["experiences"]]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
