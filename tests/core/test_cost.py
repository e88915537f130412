"""Multiply-adds against torch's own counter, which counts two operations for each."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from sffa.core import Backprop, Learner, Network, make, multiply_adds

ROWS = 7


def counted(work: object) -> float:
    """Return the multiply-adds that torch sees."""
    with FlopCounterMode(display=False) as counter:
        work()  # type: ignore[operator]
    return counter.get_total_flops() / 2


def test_back_propagation_costs_what_torch_counts() -> None:
    net = Backprop(12, hidden=(20, 16), classes=range(5))
    x, y = torch.randn(ROWS, 12), torch.arange(ROWS) % 5
    cost = multiply_adds(net)
    assert counted(lambda: net.scores(x)) == ROWS * cost.predict
    assert counted(lambda: net.loss(x, y).backward()) == ROWS * cost.train


def test_ffa_costs_what_torch_counts_but_for_the_codes_of_a_batch() -> None:
    net = Network(12, hidden=(20, 16), algorithm="ffa", classes=range(5), code_size=10)
    codes = 5 * 10 * (20 + 16)
    found = counted(lambda: net.scores(torch.randn(ROWS, 12)))
    assert found - codes == ROWS * multiply_adds(net).predict


@pytest.mark.parametrize("name", ["ridge", "slda"])
def test_closed_forms_cost_features_and_scores(name: str) -> None:
    net = make(name, 12, hidden=(20,), classes=range(5))
    net.observe(torch.randn(30, 12), torch.arange(30) % 5)
    net.scores(torch.randn(1, 12))  # solves
    found = counted(lambda: net.scores(torch.randn(ROWS, 12)))
    assert found == ROWS * multiply_adds(net).predict


def test_sffa_costs_less_than_ffa_and_a_gate_less_again() -> None:
    size = {"hidden": (200, 200), "classes": range(10)}
    plain = multiply_adds(Network(64, k=5, **size))
    gated = multiply_adds(Network(64, k=5, gate=0.3, **size))
    dense = multiply_adds(Network(64, algorithm="ffa", **size))
    assert plain == (64 * 400 + 10 * 10 * 200, 2 * 64 * 400 + 10 * (10 * 200 + 10 * 10))
    assert gated.predict < plain.predict < dense.predict


def test_a_learner_that_nobody_counted_has_no_cost() -> None:
    class Own(Learner):
        def loss(self, x, y, task=None):
            return x.sum()

        def outputs(self, x, task=None):
            return x

        def grow(self, classes, task):
            return []

    assert multiply_adds(Own(3)) is None
