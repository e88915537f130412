"""Networks and negatives of one's own: in files and checkpoints, by name and as objects."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import sffa
from sffa.continual import ContinualConfig, Stopped, run
from sffa.core import Callback, Trainer
from sffa.errors import ConfigurationError, ModelFileError
from sffa.testing import toy

SOURCE = '''
import torch
from sffa import Network
from sffa.core import NegativeScheme


class Doubled(Network):
    """Every score twice as large."""

    def outputs(self, x, task=None):
        return 2 * super().outputs(x, task)


class Next(NegativeScheme):
    """The wrong label is the next one."""

    def draw(self, learner, x, y, rng, task=None):
        column = learner.columns(y)
        wrong = (column + 1) % len(learner.classes)
        return torch.stack([column, wrong.where(wrong != column, -1)], dim=1)


class NoScheme:
    pass
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("mine", None)
    import mine as module

    yield module
    sys.modules.pop("mine", None)


class StopAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_batch_end(self, progress):
        return progress.step == self.step


def config(**more) -> ContinualConfig:
    common = {"dataset": "toy", "experiences": 3, "hidden": (24,), "batch_size": 16, "lr": 3e-3}
    return ContinualConfig(**{**common, "network": {"k": 4}, "epochs": 1, **more})


def test_a_file_names_the_class_it_needs_and_is_loaded_only_with_it_at_hand(
    mine, tmp_path: Path
) -> None:
    network = mine.Doubled(4, hidden=(40,), k=5, classes=range(3))
    path = tmp_path / "model.safetensors"
    network.save(path)
    x = torch.rand(5, 4)
    assert torch.equal(sffa.load(path).scores(x), network.scores(x))
    assert type(sffa.load(path)) is mine.Doubled
    del sys.modules["mine"]
    with pytest.raises(ModelFileError, match="needs the class 'mine:Doubled': import its module"):
        sffa.load(path)
    assert "mine" not in sys.modules


def test_a_class_that_cannot_be_found_again_is_not_saved(tmp_path: Path) -> None:
    class Local(sffa.Network):
        pass

    with pytest.raises(ModelFileError, match="define it in a module"):
        Local(4, hidden=(40,), k=5).save(tmp_path / "model.safetensors")


@pytest.mark.parametrize("given", [{"algorithm": "mine:Doubled"}, {"negatives": "mine:Next"}])
def test_a_run_with_parts_of_ones_own_goes_on_to_the_same_bits(
    given: dict, mine, tmp_path: Path
) -> None:
    whole = run(config(**given), toy())
    path = tmp_path / "checkpoint.safetensors"
    for step in (3, 8):
        with pytest.raises(Stopped):
            run(config(**given), toy(), checkpoint=path, callbacks=[StopAt(step)])
    again = run(config(**given), toy(), checkpoint=path)
    assert again.rows == whole.rows
    assert all(
        torch.equal(a, b)
        for a, b in zip(again.learner.parameters(), whole.learner.parameters(), strict=True)
    )
    assert whole.rows != run(config(), toy()).rows or "algorithm" in given


def test_negatives_are_a_name_a_class_or_an_object(mine, tmp_path: Path) -> None:
    losses = []
    for given in ("mine:Next", mine.Next, mine.Next()):
        network = sffa.Network(4, hidden=(40,), k=5, classes=range(3))
        trainer = Trainer(network, negatives=given)
        losses.append(float(trainer.step(torch.eye(4), torch.tensor([0, 1, 2, 0]))))
        assert trainer.negatives == "mine:Next"
    assert len(set(losses)) == 1
    path = tmp_path / "trainer.safetensors"
    trainer.save(path)
    assert Trainer.load(path).negatives == "mine:Next"
    del sys.modules["mine"]
    with pytest.raises(ModelFileError, match="needs the negatives 'mine:Next'"):
        Trainer.load(path)
    assert "mine" not in sys.modules


def test_what_is_no_scheme_is_one_clear_line(mine) -> None:
    with pytest.raises(ConfigurationError, match="no NegativeScheme named 'NoScheme'"):
        config(negatives="mine:NoScheme")
    with pytest.raises(ConfigurationError, match="unknown negatives 'hardd'; did you mean 'hard'"):
        config(negatives="hardd")
