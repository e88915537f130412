"""`Trainer.fit` takes a DataLoader, or any iterable of batches, in place of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import sffa
from sffa.errors import DataError


def trainer() -> sffa.Trainer:
    net = sffa.Network(6, hidden=(40,), k=5, seed=1, backend="torch")
    return sffa.Trainer(net, lr=1e-2)


def examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return (rng.normal(size=(3, 6))[y] * 2 + rng.normal(size=(60, 6))).astype(np.float32), y


def batches() -> list[tuple[Any, Any]]:
    x, y = examples()
    return [(x[first : first + 16], y[first : first + 16]) for first in range(0, 60, 16)]


def test_a_loader_a_list_and_a_generator_train_alike():
    x, y = examples()
    loader = DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_size=16)
    weights = []
    for source in (loader, batches(), (pair for pair in batches())):
        one = trainer()
        history = one.fit(source, epochs=3)
        assert [epoch.number for epoch in history] == [1, 2, 3]
        assert one.learner.classes == [0, 1, 2]
        weights.append(one.learner.layers[0].image.detach())
    assert all(torch.equal(weights[0], other) for other in weights)
    assert (one.learner.predict(x) == y).mean() > 0.8


def test_batches_take_the_steps_that_arrays_take_in_that_order():
    one, other = trainer(), trainer()
    for net in (one.learner, other.learner):
        net.add_classes(range(3))
        net.standardise(0.0, 1.0)
    one = sffa.Trainer(one.learner, lr=1e-2)
    other = sffa.Trainer(other.learner, lr=1e-2)
    one.fit(batches())
    for x, y in batches():
        other.step(x, y)
    assert torch.equal(one.learner.layers[0].image, other.learner.layers[0].image)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.ones((4, 6)), "labels are missing"),
        (torch.ones(4, 6), "labels are missing"),
        ([], "no batches"),
        (7, "iterable of batches, got a int"),
        ([np.ones((4, 6))], "a batch is a pair"),
        ([(np.ones((4, 6)), np.array(["a"] * 4))], "expected an array or a tensor of numbers"),
        ([(np.full((4, 6), np.nan), np.arange(4))], "finite|same"),
    ],
)
def test_what_is_no_batch_is_one_line(given, said):
    with pytest.raises(DataError, match=said):
        trainer().fit(given)


def test_frames_of_numbers_are_arrays_and_others_are_refused():
    pandas = pytest.importorskip("pandas")
    x, y = examples()
    frame = pandas.DataFrame(x, columns=list("abcdef"))
    assert trainer().fit(frame, pandas.Series(y))[0].loss > 0
    with pytest.raises(DataError, match="labels are missing"):
        trainer().fit(frame)
    with pytest.raises(DataError, match="got DataFrame of"):
        trainer().fit(frame.assign(a="text"), y)
    dated = frame.assign(a=pandas.Timestamp("2020-01-01"))
    with pytest.raises(DataError, match="got DataFrame of"):
        trainer().fit(dated, y)
