"""Trackers: the same numbers under the same names, each read back by its own client."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sffa.cli.app import app
from sffa.continual import ContinualConfig, run
from sffa.continual.result import Result
from sffa.data import load
from sffa.errors import ConfigurationError
from sffa.integrations.trackers import CSVTracker, MLflowTracker, Tracker, open_tracker

CONFIG = ContinualConfig(
    dataset="digits", algorithm="bp", hidden=(16,), epochs=1, batch_size=256, experiences=2
)
Numbers = dict[tuple[str, int], float]


def from_csv(path: Path) -> Numbers:
    rows = csv.DictReader(path.read_text().splitlines())
    return {(row["name"], int(row["step"])): float(row["value"]) for row in rows}


def from_mlflow(tracker: Any) -> Numbers:
    names = tracker.client.get_run(tracker.run_id).data.metrics
    history = [m for name in names for m in tracker.client.get_metric_history(tracker.run_id, name)]
    return {(metric.key, metric.step): metric.value for metric in history}


def expected(result: Result) -> Numbers:
    found = {}
    for step, row in enumerate(result.rows):
        for number, value in enumerate(row, start=1):
            found[f"accuracy/experience {number}", step] = value
    return found


def test_a_stream_is_kept_as_it_is_by_csv_and_mlflow(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow = MLflowTracker(tmp_path / "mlruns", run="one")
    with CSVTracker(tmp_path / "numbers.csv") as table, mlflow:
        result = run(CONFIG, load("digits"), callbacks=[table, mlflow])
    kept = from_csv(tmp_path / "numbers.csv")
    assert kept == from_mlflow(mlflow)
    assert expected(result).items() <= kept.items()
    assert kept["stream/acc", 2] == result.metrics["acc"]
    info = mlflow.client.get_run(mlflow.run_id)
    assert (info.info.run_name, info.info.status) == ("one", "FINISHED")
    assert info.data.params["algorithm"] == "bp"
    assert json.loads(info.data.params["hidden"]) == [16]
    assert list((tmp_path / "mlruns").iterdir())


def test_a_second_run_joins_the_same_experiment(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    with MLflowTracker(tmp_path) as first, MLflowTracker(tmp_path) as second:
        runs = [tracker.client.get_run(tracker.run_id).info for tracker in (first, second)]
    assert runs[0].experiment_id == runs[1].experiment_id
    assert runs[0].run_id != runs[1].run_id


def test_a_csv_that_is_there_goes_on_under_one_head(tmp_path: Path) -> None:
    for step in (1, 2):
        with CSVTracker(tmp_path / "n.csv") as tracker:
            tracker.scalars({"loss, total": step / 2}, step)
    assert from_csv(tmp_path / "n.csv") == {("loss, total", 1): 0.5, ("loss, total", 2): 1.0}


def test_the_command_keeps_static_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["train", "--algorithm", "bp", "--hidden", "16", "--epochs", "2"]
    done = CliRunner().invoke(app, [*command, "--track", "csv:out/n.csv"])
    assert done.exit_code == 0, done.output
    (record,) = (json.loads(file.read_text()) for file in Path("runs").glob("*.json"))
    kept = from_csv(Path("out/n.csv"))
    assert [kept["accuracy/test", n] for n in (1, 2)] == [p["test"] for p in record["curve"]]
    assert [kept["loss", n] for n in (1, 2)] == [p["loss"] for p in record["curve"]]


def test_a_tracker_of_ones_own_needs_one_method() -> None:
    class Last(Tracker):
        def scalars(self, values, step):
            self.seen = step, dict(values)

    own = Last()
    result = run(CONFIG, load("digits"), callbacks=[own])
    assert own.seen[0] == 2
    assert own.seen[1]["stream/acc"] == result.metrics["acc"]


@pytest.mark.parametrize("text", ["csv", "csv:", "mlflw:x", ":x"])
def test_an_unknown_tracker_is_one_line(text: str) -> None:
    with pytest.raises(ConfigurationError, match="kind:place"):
        open_tracker(text, "run")


def test_without_mlflow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "mlflow.tracking", None)
    with pytest.raises(ConfigurationError, match=r"sffa\[mlflow\]"):
        MLflowTracker(tmp_path)
