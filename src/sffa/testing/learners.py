"""The contract of a learner."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.core import Learner, Trainer, accuracy, load
from sffa.core.learner import KINDS
from sffa.errors import DataError
from sffa.testing.toy import close, toy


def check_learner(
    make: Callable[..., Learner], *, hidden: tuple[int, ...] = (40, 40), **options: Any
) -> None:
    """Check what everyone relies on in a learner.

    Parameters
    ----------
    make
        The class, or a function called as ``make(inputs, hidden=..., classes=..., seed=...)``.
    hidden, **options
        Passed on to it.

    Examples
    --------
    >>> import sffa
    >>> check_learner(sffa.Backprop)
    """

    def made(classes: Any = ()) -> Learner:
        return make(20, hidden=hidden, classes=classes, seed=1, **options)

    data = toy()
    x, y = torch.from_numpy(data.train.x[:60]), torch.from_numpy(data.train.y[:60])
    _check_growth(made(), x)
    _check_scores(made(range(6)), x)
    _check_refusals(made(range(6)), x)
    _check_tasks(made(), x, y)
    _check_training(made)
    _check_copies(made(range(6)), x)


def _check_growth(learner: Learner, x: Tensor) -> None:
    assert not learner.classes, "a learner made without classes knows none"
    learner.add_classes([3, 1])
    assert learner.classes == [3, 1], "classes are kept in the order they are met"
    before = learner.scores(x)
    assert before.shape == (len(x), 2), "scores are (batch, classes met)"
    growths = learner.add_classes([5])
    parameters = dict(learner.named_parameters())
    for growth in growths:
        assert parameters.get(growth.name) is growth.new, f"grow returned '{growth.name}' wrongly"
    assert learner.current == [2], "the classes just named are the current ones"
    after = learner.scores(x)
    assert after.shape == (len(x), 3), "a class met later adds a column"
    assert close(before, after[:, :2]), "a new class changes no old score"
    assert learner.add_classes([3, 5]) == [], "classes met before add nothing"


def _check_scores(learner: Learner, x: Tensor) -> None:
    scores = learner.scores(x)
    assert bool(scores.isfinite().all()), "scores are finite"
    assert torch.equal(scores, learner.scores(x)), "scoring twice gives the same scores"
    outputs = learner.outputs(x)
    assert close(scores, outputs.detach()), "scores are the outputs"
    assert close(learner(x), outputs), "calling the learner gives its outputs"
    single = torch.cat([learner.scores(row[None]) for row in x[:5]])
    assert close(single, scores[:5]), "an example's scores are its own"
    found = learner.predict(x.numpy())
    assert isinstance(found, np.ndarray), "arrays in, arrays out"
    assert set(found.tolist()) <= set(learner.classes), "only classes met are predicted"
    best = np.array(learner.classes)[scores.argmax(dim=1).numpy()]
    assert (found == best).all(), "the prediction is the class of the largest score"


def _check_refusals(learner: Learner, x: Tensor) -> None:
    for wrong, what in (
        (lambda: learner.scores(x[:, :-1]), "examples of another width"),
        (lambda: learner.loss(x[:1], torch.tensor([77])), "a label never met"),
        (lambda: learner.add_classes([-1]), "a negative class"),
        (lambda: learner.scores(x, 9), "a task never met"),
    ):
        try:
            wrong()
        except DataError:
            continue
        raise AssertionError(f"{what} must raise a DataError")


def _check_tasks(learner: Learner, x: Tensor, y: Tensor) -> None:
    learner.add_classes([0, 1], task=0)
    learner.add_classes([2, 3], task=1)
    mixed = torch.arange(len(x)) % 2
    scores = learner.scores(x, mixed)
    assert scores.shape == (len(x), 2), "with a task only its classes are scored"
    for task in (0, 1):
        chosen = mixed == task
        alone = learner.scores(x[chosen], task)
        assert close(scores[chosen], alone), "tasks in a batch are independent"
        found = set(learner.predict(x, task).tolist())
        assert found <= {2 * task, 2 * task + 1}, "only classes of the task are predicted"


def _check_training(made: Callable[..., Learner]) -> None:
    data = toy()
    learner = made(range(6))
    x, y = data.train.x, data.train.y
    history = Trainer(learner, lr=3e-3, seed=1).fit(x, y, epochs=20, batch_size=32)
    assert all(np.isfinite(epoch.loss) for epoch in history), "the loss stays finite"
    reached, _ = accuracy(learner, data.test.x, data.test.y)
    assert reached > 60, f"six separable classes are learned: {reached:.0f} % after 20 epochs"
    again = made(range(6))
    Trainer(again, lr=3e-3, seed=1).fit(x, y, epochs=20, batch_size=32)
    same = zip(learner.state_dict().values(), again.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in same), "the same seed gives the same bits"


def _check_copies(learner: Learner, x: Tensor) -> None:
    scores = learner.scores(x)
    assert torch.equal(copy.deepcopy(learner).scores(x), scores), "a deep copy scores the same"
    if type(learner) in KINDS.values():
        with TemporaryDirectory() as folder:
            learner.save(Path(folder) / "model.safetensors")
            same = load(Path(folder) / "model.safetensors")
        assert torch.equal(same.scores(x), scores), "a saved learner scores the same"
