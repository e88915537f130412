"""Masking and projection: what of a step is left, and that past inputs are answered as before."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.continual.toy import small, toy

from sffa.continual import ContinualRun, Masking, Projection
from sffa.continual.strategies.projection import extended
from sffa.core import Backprop, Learner
from sffa.data import Dataset, from_arrays
from sffa.errors import ConfigurationError

ALGORITHMS = ("sffa", "ffa", "bp", "sffa-gated")


@pytest.fixture(scope="module")
def apart() -> Dataset:
    """Classes two at a time, the first two in four features of twelve, the others in all."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 40)
    x = rng.normal(size=(len(y), 12)).astype(np.float32) + y[:, None] * 0.5
    x[y < 2, 4:] = 0
    return from_arrays(x, y, x, y, name="toy")


def begun(algorithm: str, method: str, data: Dataset, scenario: str = "class", **more):
    going = ContinualRun(small(algorithm, method=method, scenario=scenario, **more), data)
    going.learn(going.stream[0])
    return going


def weights(learner: Learner) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in learner.named_parameters()}


@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_past_inputs_are_answered_as_before(algorithm: str, scenario: str, apart: Dataset) -> None:
    options = {"projection.threshold": 1.0, "projection.examples": 1000}
    going = begun(algorithm, "projection", apart, scenario, options=options)
    past = going.stream[0].train.take(slice(None))
    before, known = going.learner.outputs(past.x, past.task), len(going.learner.classes)
    old = weights(going.learner)
    going.learn(going.stream[1])
    after = going.learner.outputs(past.x, past.task)[:, :known]
    torch.testing.assert_close(after, before, rtol=1e-3, atol=1e-4)
    changed = weights(going.learner)
    alike = [n for n in old if old[n].shape == changed[n].shape and ".bias" not in n]
    assert max(float((changed[n] - old[n]).abs().max()) for n in alike) > 1e-3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_naive_answers_past_inputs_otherwise(algorithm: str, apart: Dataset) -> None:
    going = begun(algorithm, "naive", apart, "task")
    past = going.stream[0].train.take(slice(None))
    before = going.learner.outputs(past.x, past.task)
    going.learn(going.stream[1])
    away = going.learner.outputs(past.x, past.task) - before
    assert float(away.detach().abs().max()) > 2e-3


def test_a_step_has_nothing_of_the_basis() -> None:
    going = begun("sffa", "projection", toy(), options={"projection.threshold": 0.8})
    bases = {n: b for n, b in going.strategy.buffers.items() if n.startswith("basis.")}
    old = weights(going.learner)
    going.learn(going.stream[1])
    for name, new in weights(going.learner).items():
        basis = bases[f"basis.{name}"]
        step = (new - old[name]).reshape(-1, new.shape[-1])
        torch.testing.assert_close(basis.T @ basis, torch.eye(basis.shape[1]))
        assert float((basis.T @ step).abs().max()) < 1e-5


def test_a_basis_takes_in_what_it_lacks_and_no_more() -> None:
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(200, 6)) * [3, 2, 1, 0.1, 0.0, 0.0]).float()
    moment = x.T @ x
    empty = torch.zeros(6, 0)
    held = {
        share: float((extended(empty, moment, share).T @ x.T).square().sum() / x.square().sum())
        for share in (0.5, 0.9, 0.99)
    }
    assert all(found >= share for share, found in held.items())
    assert extended(empty, moment, 0.5).shape[1] == 1
    assert extended(empty, moment, 1.0).shape[1] == 4
    assert extended(empty, moment, 0.0).shape[1] == 0
    once = extended(empty, moment, 0.9)
    assert torch.equal(extended(once, moment, 0.9), once)
    assert extended(torch.eye(6), moment, 1.0).shape == (6, 6)


def test_a_learner_that_does_not_tell_its_inputs_is_refused_in_a_line() -> None:
    class Silent(Backprop):
        weight_inputs = Learner.weight_inputs

    with pytest.raises(ConfigurationError, match="projection needs a learner with weight_inputs"):
        Projection().attach(Silent(4, hidden=(8,), classes=range(2)))


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
def test_hard_masks_freeze_the_most_important_weights_to_the_bit(algorithm: str) -> None:
    going = begun(algorithm, "masking", toy(), options={"masking.share": 0.25})
    masks = dict(going.strategy.parameter_state["mask"])
    old = weights(going.learner)
    going.learn(going.stream[1])
    for name, mask in masks.items():
        assert {*mask.unique().tolist()} <= {0.0, 1.0}
        assert float(mask.sum()) <= 0.25 * mask.numel()
        new = weights(going.learner)[name]
        if new.shape == old[name].shape:
            assert torch.equal(new[mask == 1], old[name][mask == 1])
    second = going.strategy.parameter_state["mask"]
    name = next(n for n in masks if n.endswith(("0.image", "0.weight")))
    assert float(second[name].sum()) > float(masks[name].sum())
    assert bool((second[name] >= masks[name]).all())


def test_soft_masks_follow_the_formula_and_shorten_a_step() -> None:
    going = begun("bp", "masking", toy())
    view = going.stream[0].train
    total: dict[str, torch.Tensor] = {}
    batches = list(view.batches(going.strategy.batch_size))
    for batch in batches:
        going.learner.backward(*batch)
        for name, parameter in going.learner.named_parameters():
            found = parameter.grad.abs() / len(batches)
            total[name] = total[name] + found if name in total else found
    for name, importance in total.items():
        wanted = (importance / importance.square().mean().sqrt()).tanh()
        torch.testing.assert_close(going.strategy.parameter_state["mask"][name], wanted)
    name = "body.0.weight"
    step = going.strategy.changed(name, torch.ones_like(total[name]))
    torch.testing.assert_close(step, 1 - going.strategy.parameter_state["mask"][name])


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Masking, {"strength": -1.0}),
        (Masking, {"share": 1.5}),
        (Projection, {"threshold": 1.5}),
        (Projection, {"examples": 0}),
    ],
)
def test_options_out_of_range_are_refused(kind: type, options: dict) -> None:
    with pytest.raises(ConfigurationError, match="needs a"):
        kind(**options)
