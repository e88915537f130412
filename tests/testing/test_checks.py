"""The contracts hold for what sffa has, and fail for what breaks them."""

from __future__ import annotations

import pytest
import torch

from sffa import Backprop, Network, kernels
from sffa.continual import METHODS, Strategy, make_strategy
from sffa.core import PRESETS, Batch, make
from sffa.testing import check_backend, check_learner, check_strategy


def made(name: str):
    small = {"sffa-gated": {"k": 4}, "sffa-classifier": {"k": 4}, "sffa": {"k": 5}}

    def learner(inputs, **given):
        return make(name, inputs, **{**small.get(name, {}), **given})

    return learner


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "ffa"])
def test_every_preset_keeps_the_contract_of_a_learner(name: str) -> None:
    check_learner(made(name))


def test_ffa_keeps_the_contract_of_a_learner() -> None:
    check_learner(made("ffa"), theta=0.5, scale=0.1)


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_keeps_the_contract_of_a_strategy(method: str) -> None:
    check_strategy(lambda: make_strategy([method]))


@pytest.mark.parametrize("name", ["torch", "numba"])
def test_every_backend_keeps_the_contract_of_a_kernel(name: str) -> None:
    check_backend(kernels.get(name, torch.device("cpu")))


class Fickle(Backprop):
    """Scores that depend on the neighbours in the batch."""

    def outputs(self, x, task=None):
        found = super().outputs(x, task)
        return found - found.mean(dim=0)


class Forgetful(Network):
    """Old scores change when a class is met."""

    def grow(self, classes, task):
        growths = super().grow(classes, task)
        with torch.no_grad():
            self.stack[0].bias.add_(len(self.classes))
        return growths


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        (Fickle, {}, "an example's scores are its own"),
        (Forgetful, {"k": 5}, "a new class changes no old score"),
    ],
)
def test_a_broken_learner_is_named_by_the_promise_it_breaks(kind, options, said) -> None:
    with pytest.raises(AssertionError, match=said):
        check_learner(kind, **options)


class Counts(Strategy):
    """State outside the two dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def after_step(self, learner) -> None:
        self.steps += 1

    def after_backward(self, learner, clock) -> None:
        for parameter in learner.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(1 / (1 + self.steps))


class Hides(Counts):
    """The same, said to be computed again."""

    transient = frozenset({"steps"})


class Draws(Strategy):
    """Noise from torch's global generator."""

    def extra_batch(self, clock):
        return Batch(torch.randn(1, 20), torch.tensor([0]))


class Alias(Strategy):
    """The weights themselves in place of a copy."""

    def before_experience(self, learner, experience) -> None:
        self.parameter_state["kept"] = {n: p.detach() for n, p in learner.named_parameters()}


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Counts, r"Counts\.steps changed and is in neither"),
        (Hides, "a resumed run ends elsewhere"),
        (Draws, "global generator"),
        (Alias, "an alias of the weights"),
    ],
)
def test_a_broken_strategy_is_named_by_the_promise_it_breaks(kind, said) -> None:
    with pytest.raises(AssertionError, match=said):
        check_strategy(kind, scenarios=("class",), algorithms=("bp",))


class Loud(kernels.TorchKernel):
    def answer(self, *given):
        found = super().answer(*given)
        return found._replace(activity=found.activity * 1.001)


def test_a_broken_kernel_is_named_by_what_differs() -> None:
    with pytest.raises(AssertionError, match="activity differs"):
        check_backend(Loud())
