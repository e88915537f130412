"""Branches: a run that goes on from an experience of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import typer
from tests.continual.toy import StopAt, small, toy
from typer.testing import CliRunner

import sffa
from sffa.cli.continual import continual
from sffa.continual import Stopped, run
from sffa.errors import ConfigurationError, ModelFileError
from sffa.report.page import render
from sffa.report.summary import branches

app = typer.Typer()
app.command()(continual)


def same(first, second) -> bool:
    a, b = first.state_dict(), second.state_dict()
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("method", ["ewc", "replay+si", "gem"])
@pytest.mark.parametrize("at", [1, 2])
def test_a_branch_with_nothing_changed_is_the_original_bit_by_bit(
    method: str, at: int, tmp_path: Path
) -> None:
    config = small("sffa", method=method, epochs=1)
    whole = run(config, toy(), keep=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"000{n}.safetensors" for n in (1, 2, 3)]
    again = run(config, toy(), start=tmp_path / f"000{at}.safetensors")
    assert again.rows == whole.rows
    assert same(again.learner, whole.learner)
    assert again.config.branch == f"{whole.record().config_hash}@{at}"


def test_a_branch_takes_another_method_and_keeps_what_both_have(tmp_path: Path) -> None:
    config = small("bp", method="replay", epochs=1)
    whole = run(config, toy(), keep=tmp_path)
    start = tmp_path / "0002.safetensors"
    other = small("bp", method="replay+ewc", epochs=2, lr=1e-3, options={"ewc.strength": 10})
    changed = run(other, toy(), start=start)
    assert changed.rows[:3] == whole.rows[:3]
    assert changed.rows[3] != whole.rows[3]
    bare = run(small("bp", epochs=1), toy(), start=start)
    assert bare.rows[3][0] < whole.rows[3][0]
    with pytest.raises(ConfigurationError, match="its seed is 0, this run's is 1"):
        run(small("bp", seed=1), toy(), start=start)
    with pytest.raises(ConfigurationError, match="its hidden is"):
        run(small("bp", hidden=(30,)), toy(), start=start)


def test_a_branch_that_was_stopped_goes_on(tmp_path: Path) -> None:
    config = small("bp", method="replay", epochs=2)
    whole = run(config, toy(), keep=tmp_path)
    start, path = tmp_path / "0001.safetensors", tmp_path / "branch.safetensors"
    with pytest.raises(Stopped):
        run(config, toy(), start=start, checkpoint=path, callbacks=[StopAt(17)])
    assert run(config, toy(), start=start, checkpoint=path).rows == whole.rows


def test_the_command_branches_and_the_report_shows_a_tree(tmp_path: Path) -> None:
    common = ["--out", str(tmp_path), "--json", "--quiet", "--threads", "1"]
    first = ["--dataset", "digits", "--hidden", "40", "--algorithm", "bp", "--epochs", "1"]

    def sffa(*arguments: str) -> dict:
        found = CliRunner().invoke(app, [*arguments, *common], catch_exceptions=False)
        return json.loads(found.stdout)

    root = sffa(*first, "--keep")
    (origin,) = tmp_path.glob("*.json")
    same_run = sffa("--from", str(origin), "--at", "3")
    assert same_run["matrix"] == root["matrix"]
    child = sffa("--from", str(origin), "--at", "3", "--method", "replay", "--keep")
    assert child["matrix"][:4] == root["matrix"][:4]
    assert child["config"]["hidden"] == [40]
    (middle,) = tmp_path.glob("*-replay-*.json")
    sffa("--from", str(middle), "--at", "4", "--method", "replay+ewc", "--set", "ewc.strength=10")
    from sffa.study import read_records

    records = read_records(tmp_path)
    tree = branches(records)
    assert [len(line) - len(line.lstrip()) for line in tree] == [0, 4, 4, 8]
    assert "after 4: " in tree[3]
    html = render(records, theory=False)
    assert "after 3: " in html
    with pytest.raises(ConfigurationError, match="needs both"):
        sffa("--from", str(origin))
    with pytest.raises(ConfigurationError, match="with --keep"):
        sffa("--from", str(origin), "--at", "9")


def test_only_the_end_of_an_experience_is_a_place_to_branch_from(tmp_path: Path) -> None:
    config, path = small("bp", epochs=2), tmp_path / "c.safetensors"
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint=path, callbacks=[StopAt(25)])
    with pytest.raises(ConfigurationError, match="not the end of an experience"):
        run(config, toy(), start=path)


def test_a_training_that_is_no_stream_is_no_place_to_branch_from(tmp_path: Path) -> None:
    trainer = sffa.Trainer(sffa.Backprop(20, hidden=(24,)))
    trainer.fit(toy().train.x, toy().train.y, epochs=1)
    trainer.save(tmp_path / "t.safetensors")
    with pytest.raises(ModelFileError, match="no checkpoint of a continual run"):
        run(small("bp"), toy(), start=tmp_path / "t.safetensors")
