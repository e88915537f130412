"""``sffa train --card``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.report.cards import head, row

from sffa.core import accuracy, load
from sffa.data import load as load_data


def test_train_writes_a_card_with_the_accuracy_of_the_model_that_it_wrote(sffa: Run) -> None:
    done = sffa(
        *("train", "--hidden", "40", "--set", "k=5", "--batch-size", 64, "--epochs", 3),
        *("--lr", 0.01, "--holdout", 200, "--card", "--license", "mit", "--out", "m.safetensors"),
    )
    assert done.code == 0, done.err
    assert "m.md" in done.err
    card = Path("m.md").read_text(encoding="utf-8")
    values = head(card)
    assert (values["license"], values["library_name"]) == ("mit", "sffa")
    [result] = values["model-index"][0]["results"]
    [metric] = result["metrics"]
    data = load_data("digits")
    of_file = accuracy(load("m.safetensors"), data.test.flat, data.test.y)[0]
    assert metric["value"] == pytest.approx(of_file, abs=0.005)
    assert f"**{of_file:.2f}**" in card
    config = json.loads(Path("m.metrics.json").read_text())["config"]
    for name in ("seed", "epochs", "lr", "holdout"):
        assert row(card, name) == json.dumps(config[name])


def test_no_card_is_written_unless_asked_for(sffa: Run) -> None:
    assert sffa("train", "--hidden", "40", "--set", "k=5", "--epochs", 1).code == 0
    assert not list(Path().glob("*.md"))


def test_a_card_that_cannot_be_written_stops_before_training(sffa: Run) -> None:
    small = ("train", "--hidden", "40", "--set", "k=5", "--epochs", 1, "--card")
    Path("model.md").mkdir()
    for more in ((), ("--out", "other.md")):
        done = sffa(*small, *more)
        assert done.code == 2
        assert len(done.err.strip().splitlines()) == 1
        assert not list(Path().glob("*.safetensors"))


def test_a_card_does_not_tell_where_the_data_lie(sffa: Run) -> None:
    rng = np.random.default_rng(0)
    Path("private").mkdir()
    np.savez("private/mnist.npz", x=rng.random((60, 5), np.float32), y=np.arange(60) % 2)
    small = ("--hidden", "40", "--set", "k=5", "--epochs", 1, "--card")
    assert sffa("train", "--dataset", "private/mnist.npz", *small).code == 0
    card = Path("model.md").read_text(encoding="utf-8")
    assert "private" not in card
    assert "datasets" not in head(card)  # its name is mnist, but nothing says that it is
    assert "LeCun" not in card
    assert "not known to sffa" in card
    assert head(card)["pipeline_tag"] == "tabular-classification"
