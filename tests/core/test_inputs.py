"""What is handed to a trainer or a network: used, or refused in one line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import sffa
from sffa.core.closed_form import SLDA, Ridge
from sffa.errors import ConfigurationError, DataError

LABELS = np.array([0, 0, 1, 1])


def network() -> sffa.Network:
    return sffa.Network(4, hidden=(40,), k=5, classes=range(2), backend="torch")


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> Any:
        return self.values


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, 1e300])
def test_a_value_that_is_not_finite_is_named_before_any_weight_changes(wrong: float) -> None:
    trainer = sffa.Trainer(network())
    x = np.eye(4)
    trainer.step(x, LABELS)
    before = {name: value.clone() for name, value in trainer.learner.state_dict().items()}
    x[2, 1] = wrong
    with pytest.raises(DataError, match="example 2 of the batch has a value that is not finite"):
        trainer.step(x, LABELS)
    with pytest.raises(DataError, match=r"^example 2 has a value that is not finite"):
        trainer.fit(x, LABELS, epochs=1, batch_size=2)
    after = trainer.learner.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_large_values_whose_sum_overflows_are_taken() -> None:
    trainer = sffa.Trainer(network())
    trainer.fit(np.full((4, 4), 3e38) * np.eye(4), LABELS, epochs=0)
    assert trainer.learner.standardised


def test_a_loss_that_diverges_still_advises_a_smaller_step() -> None:
    trainer = sffa.Trainer(sffa.Backprop(4, hidden=(8,), classes=range(2)), lr=1e30)
    with pytest.raises(ConfigurationError, match="lower lr"):
        trainer.fit(np.eye(4), LABELS, epochs=20)


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        (np.zeros(4), LABELS, r"got the shapes \(4,\) and \(4,\)"),
        (np.zeros((4, 4)), np.zeros((4, 1)), r"expected one label an example, got the shape"),
        (np.zeros((4, 4)), 3, "labels"),
        (np.zeros((4, 3)), LABELS, "expected examples of 4 features"),
        (np.eye(4), [0, None, 1, 1], "expected an array or a tensor of numbers, got list"),
        (np.eye(4), np.array([0, None, 1, 1]), "got ndarray of object"),
        (np.eye(4), [0, math.nan, 1, 1], "label 1 is nan, expected a whole number"),
        (np.eye(4), [0, 1, 1.5, 1], "label 2 is 1.5, expected a whole number"),
        (np.eye(4), [0, 1, -1, 1], "non-negative|not among"),
        (np.eye(4), [0, 1, 2**70, 1], "expected an array or a tensor of numbers"),
        (np.eye(4), ["a", "b", "a", "b"], "expected an array or a tensor of numbers"),
        (np.eye(4).astype(complex), LABELS, "got ndarray of complex128"),
        (np.zeros((4, 4), "M8[s]"), LABELS, r"got ndarray of datetime64\[s\]"),
        (Frame([["a"] * 4] * 4), LABELS, "got Frame of <U1"),
        (Frame(np.array([[1, None, 2, 3]] * 4)), LABELS, "got Frame of object"),
        (torch.eye(4).to_sparse(), LABELS, "got Tensor of torch.float32"),
        ("text", LABELS, "got str of str"),
        (None, LABELS, "got NoneType"),
    ],
)
def test_what_is_no_batch_is_one_line(x: Any, y: Any, told: str) -> None:
    trainer = sffa.Trainer(network())
    for use in (trainer.step, trainer.fit):
        with pytest.raises(DataError, match=told) as found:
            use(x, y)
        assert "\n" not in str(found.value)


def test_a_frame_of_numbers_is_an_array_of_numbers() -> None:
    x = np.random.default_rng(0).random((4, 4))
    plain, framed = sffa.Trainer(network()), sffa.Trainer(network())
    plain.fit(x, LABELS, epochs=2)
    framed.fit(Frame(x), Frame(LABELS), epochs=2)  # type: ignore[arg-type]
    assert torch.equal(plain.learner.layers[0].image, framed.learner.layers[0].image)
    assert np.array_equal(plain.learner.scores(x), framed.learner.scores(Frame(x)))  # type: ignore[call-overload]


@pytest.mark.parametrize("x", [np.float32(3), 3.5, np.zeros(4), np.zeros((2, 5)), None, "text"])
def test_scores_refuse_what_is_no_batch(x: Any) -> None:
    with pytest.raises(DataError):
        network().scores(x)


@pytest.mark.parametrize("classes", [["3"], [1.5], [math.nan], [math.inf], [2**63], [None], [-1]])
def test_classes_are_whole_numbers(classes: list[Any]) -> None:
    net = network()
    with pytest.raises(DataError, match="non-negative integers"):
        net.add_classes(classes)
    assert net.classes == [0, 1]


@pytest.mark.parametrize("kind", [sffa.Network, sffa.Backprop, Ridge, SLDA])
def test_a_number_of_classes_is_no_list_of_them(kind: Any) -> None:
    """The list to give is named."""
    with pytest.raises(DataError, match=r"such as range\(10\), got 3$"):
        kind(4, classes=3)
    with pytest.raises(DataError, match="got None"):
        kind(4).add_classes(None)


def test_a_batch_larger_than_any_number_torch_knows_is_all_examples() -> None:
    trainer = sffa.Trainer(network())
    assert len(trainer.fit(np.eye(4), LABELS, epochs=1, batch_size=10**30)) == 1


@pytest.mark.parametrize("given", [{"epochs": 1.5}, {"epochs": -1}, {"batch_size": 2.5}])
def test_passes_and_examples_in_a_step_are_whole_numbers(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(given))} must be a whole number"):
        sffa.Trainer(network()).fit(np.eye(4), LABELS, **given)


def test_a_step_size_must_be_finite() -> None:
    with pytest.raises(ConfigurationError, match="lr must be positive"):
        sffa.Trainer(network(), lr=math.inf)
