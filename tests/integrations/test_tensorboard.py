"""TensorBoard: what is written can be read back, and looking changes nothing."""

from __future__ import annotations

import sys

import pytest
import torch

from sffa.core import Backprop, Network, Trainer
from sffa.data import load
from sffa.errors import ConfigurationError


@pytest.fixture(scope="module")
def digits():
    return load("digits")


def read(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return events


@pytest.fixture
def board(digits, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from sffa.integrations.tensorboard import Board

    with Board(tmp_path, digits.test.flat, digits.test.y) as opened:
        yield opened


def test_scalars_histograms_sparsity_and_maps_are_written(board, digits, tmp_path):
    net = Network(64, hidden=(80, 60), classes=range(10), k=5)
    trainer = Trainer(net, negatives="uniform")
    watch = {"test": (digits.test.flat, digits.test.y)}
    trainer.fit(digits.train.flat, digits.train.y, 2, watch=watch, callbacks=[board])
    board.close()
    events = read(tmp_path)
    tags = events.Tags()
    assert {"loss", "accuracy/test", "accuracy/test/layer 2"} <= set(tags["scalars"])
    assert "layer 1/Hoyer of positive inputs" in tags["scalars"]
    assert "layer 2/goodness of negative inputs" in tags["histograms"]
    assert "layer 1/usage of neurons" in tags["images"]
    assert [event.step for event in events.Scalars("loss")] == [1, 2]


def test_looking_changes_neither_weights_nor_training(board, digits):
    def train(callbacks):
        net = Network(64, hidden=(40,), classes=range(10), k=5)
        trainer = Trainer(net, negatives="uniform", seed=3)
        trainer.fit(digits.train.flat, digits.train.y, 2, callbacks=callbacks)
        return net.state_dict()

    plain, watched = train([]), train([board])
    assert all(torch.equal(plain[name], watched[name]) for name in plain)


def test_backprop_and_unknown_classes_write_scalars_only(board, tmp_path):
    board.look(Backprop(64, (8,), range(10)), 1)
    board.look(Network(64, hidden=(40,), classes=[55], k=5), 1)
    board.scalars({"x": 1.0}, 1)
    board.close()
    tags = read(tmp_path).Tags()
    assert tags["scalars"] == ["x"]
    assert tags["images"] == []


def test_a_continual_result_is_written_after_each_experience(board, tmp_path):
    from sffa.continual import ContinualConfig
    from sffa.continual.result import Result

    learner = Backprop(64, (8,), range(10))
    result = Result(ContinualConfig(), chances=[0.5, 0.25], rows=[[0.0, 0.0]])
    board.on_experience_end(learner, result)
    result.rows.append([98.0, 0.0])
    result.experiences.append({"classes": [0, 1]})
    board.on_experience_end(learner, result)
    board.close()
    events = read(tmp_path)
    assert [event.value for event in events.Scalars("accuracy/experience 1")] == [0.0, 98.0]
    assert events.Scalars("accuracy/seen")[0].value == 98.0


def test_without_tensorboard_the_extra_is_named(monkeypatch, tmp_path):
    from sffa.integrations.tensorboard import Board

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigurationError, match=r"sffa\[tensorboard\]"):
        Board(tmp_path)
