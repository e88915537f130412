from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sffa.cli.continual import continual
from sffa.continual import ContinualConfig, ContinualRun, Stopped
from sffa.core import Trainer
from sffa.errors import ConfigurationError
from sffa.study.configuration import Run, file_name

app = typer.Typer()
app.command()(continual)
SMALL = ["--dataset", "split-digits", "--hidden", "60,60", "--threads", "1"]
SMALL += ["--epochs", "1", "--batch-size", "128"]


def sffa(*arguments: str) -> str:
    found = CliRunner().invoke(app, [*SMALL, *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_json_prints_the_record_and_the_folder_keeps_it_with_a_picture(tmp_path: Path) -> None:
    text = sffa("--method", "replay", "--seed", "3", "--json", "--out", str(tmp_path))
    record = json.loads(text)
    assert record["metrics"].keys() == {"acc", "fgt", "fwt", "bwt"}
    assert record["seed"] == 3
    (kept,) = tmp_path.glob("split-digits-class-replay-sffa-3-*.json")
    assert json.loads(kept.read_text()) == record
    assert kept.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".json", ".png"]


def test_the_matrix_is_shown_as_a_table(tmp_path: Path) -> None:
    text = sffa("--algorithm", "bp", "--scenario", "task", "--out", str(tmp_path))
    assert "nothing" in text
    assert "experience 5" in text
    assert "Acc" in text


def test_all_methods_and_algorithms_are_compared_side_by_side(tmp_path: Path) -> None:
    arguments = ["--method", "all", "--algorithm", "all", "--experiences", "2", "--json"]
    sets = ["--set", "ewc.strength=10", "--set", "k=5", "--set", "scale=0.1"]
    records = json.loads(sffa(*arguments, *sets, "--out", str(tmp_path)))
    assert len(records) == 6 * 5
    found = {(r["method"], r["algorithm"]): r["config"] for r in records}
    assert found["ewc", "sffa"]["options"] == {"ewc.strength": 10}
    assert found["si", "sffa"]["options"] == {}
    assert found["si", "sffa"]["network"]["k"] == 5
    assert found["si", "bp"]["network"] == {}


def test_names_between_commas_are_compared_side_by_side(tmp_path: Path) -> None:
    chosen = ["--method", "naive,replay", "--algorithm", "bp,sffa", "--experiences", "2", "--json"]
    records = json.loads(sffa(*chosen, "--out", str(tmp_path)))
    found = [(r["method"], r["algorithm"]) for r in records]
    assert found == [("naive", "bp"), ("naive", "sffa"), ("replay", "bp"), ("replay", "sffa")]


def test_of_a_long_stream_means_are_shown(tmp_path: Path) -> None:
    stream = ["--stream", "permuted", "--scenario", "domain", "--experiences", "13"]
    text = sffa("--algorithm", "slda", *stream, "--out", str(tmp_path))
    assert "mean of all 13" in text
    assert re.search(r"experience 13 +13 +\d+\.\d\d +\d+\.\d\d", text)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("ewc.strenght=1", "did you mean 'ewc.strength'"),
        ("k", "key=value"),
        ("gat=0.3", "did you mean 'gate'"),
        ("negativs=uniform", "did you mean 'negatives'"),
        ("repetition.times=2", "an option of the stream 'repetition'"),
        ("class_order=[[0,1],[1,2]]", "class 1 is in experiences 0 and 1"),
    ],
)
def test_wrong_settings_are_one_clear_line(pair: str, message: str, tmp_path: Path) -> None:
    arguments = [*SMALL, "--method", "ewc", "--set", pair, "--out", str(tmp_path)]
    error = CliRunner().invoke(app, arguments).exception
    assert message in str(error)
    assert "\n" not in str(error)


def test_back_propagation_alone_ignores_no_setting(tmp_path: Path) -> None:
    arguments = [*SMALL, "--algorithm", "bp", "--set", "epocs=3", "--out", str(tmp_path)]
    assert "has no option 'epocs'" in str(CliRunner().invoke(app, arguments).exception)


def test_ctrl_c_stops_after_a_batch_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--method", "replay", "--json", "--out"]
    whole = json.loads(sffa(*arguments, str(tmp_path / "whole")))
    step = Trainer.step
    steps: list[int] = []

    def interrupted(self, *given, **more):
        steps.append(1)
        if len(steps) == 4:
            signal.raise_signal(signal.SIGINT)
        return step(self, *given, **more)

    monkeypatch.setattr(Trainer, "step", interrupted)
    found = CliRunner().invoke(app, [*SMALL, *arguments, str(tmp_path / "parts")])
    assert isinstance(found.exception, Stopped)
    assert "stopped after 4 of" in str(found.exception)
    rest = json.loads(sffa(*arguments, str(tmp_path / "parts")))
    assert rest["matrix"] == whole["matrix"]
    assert not list((tmp_path / "parts").glob("*.safetensors"))


def test_runs_of_other_settings_keep_files_of_their_own(tmp_path: Path) -> None:
    for lr in ("0.001", "0.01", "0.01"):
        sffa("--algorithm", "bp", "--lr", lr, "--out", str(tmp_path))
    assert len(list(tmp_path.glob("*.json"))) == 2
    usual = ContinualConfig(dataset="split-digits", algorithm="bp", seed=2)
    assert file_name(Run(usual)) == "split-digits-class-naive-bp-2"
    own = Run(ContinualConfig(dataset="own/a.npz", epochs=3))
    assert file_name(own).startswith("a-class-naive-sffa-0-")


def test_a_comparison_that_was_stopped_does_not_repeat_what_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--algorithm", "bp", "--method", "all", "--json", "--out"]
    whole = json.loads(sffa(*arguments, str(tmp_path / "whole")))
    learn = ContinualRun.learn
    done: list[str] = []

    def interrupted(self, *given):
        done.append(self.config.method)
        if done.count("si") == 2 and len(set(done)) == 3:
            signal.raise_signal(signal.SIGINT)
        return learn(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(ContinualRun, "learn", interrupted)
        found = CliRunner().invoke(app, [*SMALL, *arguments, str(tmp_path / "parts")])
        assert isinstance(found.exception, Stopped)
        assert set(done) == {"naive", "ewc", "si"}
        done.clear()
        rest = json.loads(sffa(*arguments, str(tmp_path / "parts")))
        assert set(done) == {"si", "mas", "replay", "gem"}
    assert [r["matrix"] for r in rest] == [r["matrix"] for r in whole]


def test_an_unknown_method_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    arguments = ["--dataset", "nowhere", "--method", "rehearsal", "--out", str(tmp_path)]
    error = CliRunner().invoke(app, arguments).exception
    assert isinstance(error, ConfigurationError)
    assert "unknown method 'rehearsal'" in str(error)


@pytest.mark.parametrize(
    ("algorithm", "extra", "said"),
    [
        ("bp", [], True),
        ("bp", ["--quiet"], False),
        ("slda", [], False),
        ("bp", ["--set", "contrast_with=current"], False),
        ("sffa-gated", ["--set", "k=3"], False),
    ],
)
def test_what_cannot_work_is_said_before_training_and_only_then(
    algorithm: str, extra: list[str], said: bool, tmp_path: Path
) -> None:
    """Closed forms forget nothing; new examples among new labels do not push old ones down."""
    arguments = ["--algorithm", algorithm, "--out", str(tmp_path), *extra]
    found = CliRunner().invoke(app, [*SMALL, *arguments])
    assert found.exception is None
    assert ("keeps nothing of old labels" in found.stderr) == said


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ([], "expect about 20 %"),
        (["--experiences", "2"], "expect about 50 %"),
        (["--experiences", "1"], None),
        (["--set", "class_order=[[0,1,2,3,4,5,6,7,8],[9]]"], "expect about 10 %"),
        (["--stream", "permuted", "--experiences", "2"], "expect what the last experience"),
    ],
)
def test_the_warning_names_the_share_of_the_last_classes_where_the_stream_tells(
    extra: list[str], expected: str | None, tmp_path: Path
) -> None:
    arguments = ["--algorithm", "bp", "--out", str(tmp_path), *extra]
    found = CliRunner().invoke(app, [*SMALL, *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    said = " ".join(found.stderr.split())
    assert ("keeps nothing" not in said) if expected is None else (expected in said)
