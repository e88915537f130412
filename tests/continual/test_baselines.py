"""LwF, DER++ and ER-ACE: their formulas, with back-propagation and with local layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.continual.toy import small, toy

from sffa.continual import Clock, ContinualRun, LwF, run
from sffa.continual.strategies.lwf import weights_of
from sffa.errors import ConfigurationError

ALGORITHMS = ("sffa", "ffa", "bp")


def begun(algorithm: str, method: str, scenario: str = "class", **more) -> ContinualRun:
    """Learn one experience of the toy stream and meet the second."""
    going = ContinualRun(small(algorithm, method=method, scenario=scenario, **more), toy())
    going.learn(going.stream[0])
    going.enter(going.stream[1])
    return going


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
def test_lwf_is_the_divergence_from_the_earlier_network(algorithm, scenario):
    going = begun(algorithm, "lwf", scenario)
    learner, strategy = going.learner, going.strategy
    batch = going.stream[1].train.take(slice(0, 20))
    assert strategy.extra_loss(learner, batch, Clock(1)).item() == pytest.approx(0, abs=1e-5)
    task = 0 if scenario == "task" else None
    before = learner.logits(batch.x, task).detach()[..., :2].double().numpy() / 2
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.mul_(1.3)
    now = learner.logits(batch.x, task).detach()[..., :2].double().numpy() / 2
    p, q = (np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True) for z in (before, now))
    wanted = 4 * (p * np.log(p / q)).sum(axis=-1).mean()
    term = strategy.extra_loss(learner, batch, Clock(1))
    assert term.item() == pytest.approx(wanted, rel=1e-3)
    term.backward()
    assert any(p.grad is not None and bool(p.grad.any()) for p in learner.parameters())


def test_lent_weights_are_put_back():
    going = begun("bp", "lwf")
    before = [p.detach().clone() for p in going.learner.parameters()]
    zeros = {name: torch.zeros_like(p) for name, p in going.learner.named_parameters()}
    with weights_of(going.learner, zeros):
        assert not any(bool(p.any()) for p in going.learner.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, going.learner.parameters(), strict=True))


@pytest.mark.parametrize("algorithm", ["sffa", "ffa"])
def test_a_distilled_layer_takes_no_gradient_from_another(algorithm):
    going = begun(algorithm, "lwf")
    learner = going.learner
    with torch.no_grad():
        learner.layers[1].image.mul_(1.3)  # only the second layer has moved
    batch = going.stream[1].train.take(slice(0, 20))
    learner.zero_grad()
    going.strategy.extra_loss(learner, batch, Clock(1)).backward()
    first, second = (float(layer.image.grad.abs().max()) for layer in learner.layers)
    assert first < 1e-3 * second


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
def test_der_compares_with_the_logits_that_examples_had(algorithm, scenario):
    going = begun(algorithm, "derpp", scenario, options={"derpp.beta": 0.0, "derpp.alpha": 0.5})
    learner, strategy = going.learner, going.strategy
    batch = going.stream[1].train.take(slice(0, 20))
    assert strategy.extra_loss(learner, batch, Clock(1)).item() == pytest.approx(0, abs=1e-6)
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.mul_(1.1)
    x, task = strategy.buffers["x"], strategy.buffers["task"]
    now = learner.logits(x, task if scenario == "task" else None).detach()[..., :2]
    many = small(algorithm).batch_size
    assert len(x) > many
    full = 0.5 * float((now - strategy.buffers["logits"]).square().mean())
    found = [strategy.extra_loss(learner, batch, Clock(1, 0, n)).item() for n in range(40)]
    assert np.mean(found) == pytest.approx(full, rel=0.1)


def test_der_keeps_the_logits_of_examples_that_stay():
    going = begun("bp", "derpp", options={"derpp.capacity": 30})
    old = dict(going.strategy.buffers)
    going.learn(going.stream[1])
    new = going.strategy.buffers
    assert new["logits"].shape == (1, 30, 4)
    for place, key in enumerate(new["key"].tolist()):
        before = (old["key"] == key).nonzero()
        if len(before):
            kept = old["logits"][0, int(before)]
            assert torch.equal(new["logits"][0, place, :2], kept)
            assert bool(new["logits"][0, place, 2:].isinf().all())
        else:
            assert bool(new["logits"][0, place].isfinite().all())


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
def test_er_ace_is_replay_whose_new_examples_compete_among_new_labels(algorithm):
    ace = run(small(algorithm, method="er-ace", options={"er-ace.capacity": 60}), toy())
    network = {**small(algorithm).network, "contrast_with": "current"}
    same = small(algorithm, method="replay", options={"replay.capacity": 60}, network=network)
    assert ace.rows == run(same, toy()).rows


@pytest.mark.parametrize("method", ["derpp", "er-ace"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_those_with_a_buffer_cure_forgetting(algorithm, method):
    more = {"epochs": 10, "hidden": (60, 60)}
    cured = run(small(algorithm, method=method, options={f"{method}.capacity": 60}, **more), toy())
    assert cured.metrics["acc"] > run(small(algorithm, **more), toy()).metrics["acc"] + 10


def test_statistics_and_distillation_go_together():
    config = small("sffa-contrast", method="gaussian+lwf", epochs=1)
    assert run(config, toy()).experiences[-1]["strategy_mb"] > 0


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("lwf", {"lwf.strength": -1.0}),
        ("lwf", {"lwf.temperature": 0.0}),
        ("derpp", {"derpp.alpha": -1.0}),
    ],
)
def test_wrong_options_are_one_clear_line(method, options):
    with pytest.raises(ConfigurationError, match=r"0 or more"):
        small("bp", method=method, options=options)
    assert LwF().strength == 1.0
