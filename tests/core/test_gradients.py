"""Gradients known in closed form, held against autograd for everything a network can be."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from sffa import Backprop, Network, Trainer
from sffa.core.goodness import SymmetricGoodness
from sffa.core.hooks import StepHooks

FORMS = [
    {"objective": objective, "activity": activity, "activity_norm": norm}
    for objective, activity, norm in product(
        ("bce", "contrast"), ("multiply", "add", "none"), ("l1", "l2")
    )
]


def network(algorithm: str, **options: object) -> Network:
    k = {"k": 4} if algorithm == "sffa" else {}
    return Network(
        6, (40, 40, 40), algorithm, range(4), init="block", alpha=0.5, **{**k, **options}
    )


def examples(pairs: bool = False) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(16, 6, generator=draw), torch.randint(4, (16,), generator=draw)
    wrong = torch.where(torch.arange(16) % 5 == 0, -1, (y + 1) % 4)
    return x, y, torch.stack([y, wrong], dim=1) if pairs else None


def assert_same_gradients(net: Network, **given: object) -> None:
    x, y, candidates = examples(pairs=bool(given.pop("pairs", False)))
    loss = net.loss(x, y, candidates=candidates, **given)
    wanted = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)
    found = net.backward(x, y, candidates=candidates, **given)
    assert float(found) == pytest.approx(loss.item(), rel=1e-5, abs=1e-6)
    for (name, parameter), grad in zip(net.named_parameters(), wanted, strict=True):
        if grad is None:
            assert parameter.grad is None, name
            continue
        error = float((parameter.grad - grad).abs().max())
        assert error <= 2e-5 * float(grad.abs().max()) + 1e-8, name


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize("algorithm", ["sffa", "ffa"])
@pytest.mark.parametrize("backend", ["numba", "torch"])
def test_every_objective_and_activity_term(form, algorithm, backend):
    net = network(algorithm, backend=backend, **form)
    assert_same_gradients(net)
    assert_same_gradients(net, pairs=True, weight=torch.linspace(0, 2, 16))


@pytest.mark.parametrize("norm", ["unit", "literal", "rms"])
@pytest.mark.parametrize("gate", [None, 0.5, "disjoint"])
@pytest.mark.parametrize("backend", ["numba", "torch"])
@pytest.mark.parametrize("algorithm", ["sffa", "ffa"])
def test_every_norm_gate_and_backend(norm, gate, backend, algorithm):
    assert_same_gradients(network(algorithm, norm=norm, gate=gate, backend=backend), pairs=True)


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("algorithm", ["sffa", "ffa"])
def test_every_activation(activation, algorithm):
    assert_same_gradients(network(algorithm, activation=activation))


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_one_layer_alone(layer):
    assert_same_gradients(network("sffa"), layer=layer)


def test_a_coupled_loss_takes_a_graph():
    assert_same_gradients(network("sffa", coupling="product"))


def test_a_subclass_with_a_loss_of_its_own_takes_a_graph():
    class Doubled(Network):
        def loss(self, *given, **options):
            return 2 * super().loss(*given, **options)

    net = Doubled(6, (40,), classes=range(4), k=4)
    x, y, _ = examples()
    assert float(net.backward(x, y)) == pytest.approx(2 * Network.loss(net, x, y).item())


def test_a_goodness_of_its_own_takes_a_graph():
    class Squared(SymmetricGoodness):
        def log_odds(self, energies):
            return 2 * super().log_odds(energies)

    net = network("sffa", objective="contrast")
    for layer in net.layers:
        layer.goodness = Squared(1e-9, 1e-4)
    assert_same_gradients(net)


def test_what_standardises_may_change():
    net = network("sffa")
    x, _, _ = examples()
    for mean in (0.0, 1.0, torch.arange(6.0)):
        net.standardise(mean, 2.0)
        torch.testing.assert_close(net.prepare(x), (x - mean) / 2)
    net.mean.fill_(3)
    torch.testing.assert_close(net.prepare(x), (x - 3) / 2)


def test_a_term_of_a_strategy_is_differentiated_with_the_loss():
    class Decay(StepHooks):
        def extra_loss(self, learner, batch, clock):
            return sum(parameter.square().sum() for parameter in learner.parameters())

    net = network("sffa")
    x, y, _ = examples()
    net.backward(x, y)
    alone = net.layers[0].image.grad.clone()
    before = net.layers[0].image.detach().clone()
    Trainer(net).step(x, y, hooks=Decay())
    torch.testing.assert_close(net.layers[0].image.grad, alone + 2 * before)


@pytest.mark.parametrize("make", [network, lambda _: Backprop(6, (20,), classes=range(4))])
def test_a_weight_counts_as_often_as_the_example_were_there(make):
    x, y, _ = examples()
    times = torch.arange(16) % 3
    rows = torch.repeat_interleave(torch.arange(16), times)
    one, other = make("sffa"), make("sffa")
    weighted = one.backward(x, y, weight=times.float())
    assert float(weighted) == pytest.approx(float(other.backward(x[rows], y[rows])), rel=1e-5)
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def test_gradients_are_replaced_not_added():
    net = network("sffa")
    x, y, _ = examples()
    net.backward(x, y)
    once = [parameter.grad.clone() for parameter in net.parameters()]
    net.backward(x, y)
    for parameter, grad in zip(net.parameters(), once, strict=True):
        assert torch.equal(parameter.grad, grad)
