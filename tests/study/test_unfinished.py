from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sffa.core import Epoch, Progress
from sffa.record import Record
from sffa.study import StaticConfig, unfinished
from sffa.study.execute import execute
from sffa.study.unfinished import Unfinished

WHOLE = Unfinished.on_epoch_end


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unfinished, "PAUSE", 0.0)


def config(algorithm: str = "sffa", **other: Any) -> dict[str, Any]:
    given = {"dataset": "digits", "algorithm": algorithm, "hidden": (40, 40), "holdout": 200}
    given |= {"epochs": 4, "negatives": "none" if algorithm == "bp" else "uniform"}
    return StaticConfig(**{**given, **other}).model_dump()


def cut_off(values: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stop a run as its second epoch is over; return the file it left."""

    def stop(self: Unfinished, progress: Progress, epoch: Epoch) -> None:
        WHOLE(self, progress, epoch)
        if epoch.number == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Unfinished, "on_epoch_end", stop)
        with pytest.raises(KeyboardInterrupt):
            execute(values, folder)
    (path,) = folder.iterdir()
    return path


def epochs_begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that takes the number of each epoch from now on."""
    seen: list[int] = []

    def note(self: Unfinished, progress: Progress, epoch: Epoch) -> None:
        seen.append(epoch.number)
        WHOLE(self, progress, epoch)

    monkeypatch.setattr(Unfinished, "on_epoch_end", note)
    return seen


def found(record: Record) -> tuple[Any, ...]:
    """Return what does not hang on the clock."""
    curve = [{**point, "seconds": None} for point in record.details["curve"]]
    return record.metrics, curve, record.details.get("hoyer"), record.config_hash


@pytest.mark.parametrize(
    ("algorithm", "schedule"),
    [
        ("sffa", "online"),
        ("sffa", "greedy"),
        ("ffa", "online"),
        ("ffa", "greedy"),
        ("bp", "online"),
    ],
)
def test_a_run_that_was_cut_off_goes_on_to_the_same_bits(
    algorithm: str, schedule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = config(algorithm, schedule=schedule)
    whole = execute(values)
    folder = tmp_path / "unfinished"
    cut_off(values, folder, monkeypatch)
    seen = epochs_begun(monkeypatch)
    record = execute(values, folder)
    assert seen[0] == 3
    assert found(record) == found(whole)
    assert record.seconds > sum(point["seconds"] for point in record.details["curve"]) > 0
    assert not folder.exists()


@pytest.mark.parametrize("what", ["version", "machine", "threads"])
def test_what_was_begun_elsewhere_begins_anew(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_off(config(), tmp_path, monkeypatch)
    here = unfinished.Unfinished.found

    def elsewhere(path: Path, given: StaticConfig, environment: dict[str, Any]) -> Unfinished:
        return here(path, given, {**environment, what: "another"})

    monkeypatch.setattr(Unfinished, "found", elsewhere)
    seen = epochs_begun(monkeypatch)
    execute(config(), tmp_path)
    assert seen == [1, 2, 3, 4]


def test_a_run_that_goes_on_after_a_commit_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cut_off(config(), tmp_path, monkeypatch)
    begun = Unfinished.found(path, StaticConfig(**config()), {"commit": "later"}).environment
    assert begun["resumed_at"] == "later" != begun["commit"]


def test_a_damaged_file_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = cut_off(config(), tmp_path, monkeypatch)
    path.write_bytes(path.read_bytes()[:-100])
    seen = epochs_begun(monkeypatch)
    execute(config(), tmp_path)
    assert seen == [1, 2, 3, 4]


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert found(execute(config(), taken)) == found(execute(config()))
    assert taken.read_text() == ""
