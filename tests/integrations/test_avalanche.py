"""SFFA and FFA as Avalanche's models: its loop and plugins, our losses."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tests.conftest import why_no_avalanche
from tests.continual.toy import Toy, Unshuffled, small, toy

import sffa
from sffa.continual import ContinualConfig, Stream, run
from sffa.errors import ConfigurationError

if reason := why_no_avalanche():
    pytest.skip(reason, allow_module_level=True)

from sffa.integrations import avalanche_run
from sffa.integrations.avalanche import ForwardForward, LocalLoss, MultiTaskForwardForward
from sffa.integrations.avalanche_import import import_avalanche

# Avalanche's own deprecations are not ours to fail on.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make Avalanche's loop keep the examples in their order."""
    template = import_avalanche("avalanche.training.templates").SupervisedTemplate
    train = template.train
    monkeypatch.setattr(template, "train", lambda self, *given: train(self, *given, shuffle=False))
    return


def classes(*labels: int, task: int = 0) -> Any:
    return SimpleNamespace(classes_in_this_experience=set(labels), task_labels=[task])


@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
@pytest.mark.parametrize("algorithm", ["sffa", "ffa", "sffa-gated"])
@pytest.mark.parametrize("method", ["naive", "ewc", "mas"])
@pytest.mark.usefixtures("in_order")
def test_both_engines_come_to_the_same_weights(
    method: str, algorithm: str, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(algorithm, method=method, scenario=scenario, epochs=1)
    trained: list[sffa.Network] = []
    make = avalanche_run.make_learner
    monkeypatch.setattr(
        avalanche_run, "make_learner", lambda *given: trained.append(make(*given)) or trained[-1]
    )
    theirs = avalanche_run.run(config, toy())
    ours = Unshuffled(config, toy())
    for experience in ours.stream:
        ours.learn(experience)
    for name, weights in ours.learner.state_dict().items():
        assert torch.allclose(trained[0].state_dict()[name], weights, atol=1e-4), name
    assert theirs.rows[-1] == pytest.approx(ours.result.rows[-1], abs=2)


@pytest.mark.parametrize("scenario", ["class", "task"])
@pytest.mark.parametrize("name", ["ReplayPlugin", "GEMPlugin", "LwFPlugin", "AGEMPlugin"])
def test_plugins_run_through_and_train(name: str, scenario: str) -> None:
    plugins = import_avalanche("avalanche.training.plugins")
    given = {
        "ReplayPlugin": (20,),
        "GEMPlugin": (5, 0.5),
        "LwFPlugin": (1, 2),
        "AGEMPlugin": (5, 10),
    }[name]
    config = small("sffa", scenario=scenario)
    result = avalanche_run.run(config, toy(), [getattr(plugins, name)(*given)])
    assert result.done == 3
    assert result.rows[-1][-1] > 60


def test_replay_is_as_good_in_both_engines(digits_data: Any) -> None:
    config = ContinualConfig(
        dataset="digits", method="replay", hidden=(100, 100), batch_size=64, lr=3e-3, epochs=8
    )
    ours, theirs = run(config, digits_data), avalanche_run.run(config, digits_data)
    assert abs(ours.metrics["acc"] - theirs.metrics["acc"]) < 8
    assert theirs.metrics["acc"] > 60


@pytest.fixture(scope="module")
def digits_data() -> Any:
    from sffa.data import load

    return load("digits")


def test_the_criterion_is_the_networks_own_loss() -> None:
    for options in ({}, {"contrast_with": "current"}, {"coupling": "product"}):
        network = sffa.Network(Toy.features, hidden=(40, 40), k=5, **options)
        model = ForwardForward(network)
        model.adaptation(classes(0, 1))
        model.adaptation(classes(2, 3))
        x, y = torch.randn(30, Toy.features), torch.arange(30) % 4
        assert torch.allclose(LocalLoss()(model(x), y), network.loss(x, y), atol=1e-6)


def test_columns_are_labels_and_those_not_met_have_no_goodness() -> None:
    network = sffa.Network(Toy.features, hidden=(40,), k=5)
    model = ForwardForward(network)
    model.adaptation(classes(5, 2))
    x = torch.randn(7, Toy.features)
    output = model(x)
    assert output.shape == (7, 6)
    assert (output[:, [0, 1, 3, 4]] == 0).all()
    assert torch.equal(output.argmax(dim=1), network.predict(x))


def test_tasks_may_share_labels_and_compete_with_their_own_alone() -> None:
    network = sffa.Network(Toy.features, hidden=(40,), k=5)
    model = MultiTaskForwardForward(network)
    model.adaptation(classes(0, 1, task=0))
    model.adaptation(classes(0, 1, 2, task=1))
    assert len(network.classes) == 5
    x = torch.randn(6, Toy.features)
    mixed = model(x, torch.tensor([0, 1, 0, 1, 0, 1]))
    assert (mixed[::2, 2] == 0).all()
    assert (mixed[1::2, 2] > 0).all()
    assert torch.allclose(mixed[1::2], model(x[1::2], 1), atol=1e-6)
    assert set(model(x, None)) == {0, 1}
    loss = LocalLoss()(mixed, torch.tensor([0, 2, 1, 1, 0, 0]))
    loss.backward()
    assert all(p.grad is not None for p in network.parameters() if p.numel())


def test_evaluation_teaches_nothing_and_does_not_fail_on_the_unknown() -> None:
    network = sffa.Network(Toy.features, hidden=(40,), k=5)
    x, y = torch.randn(4, Toy.features), torch.tensor([0, 1, 8, 9])
    model = ForwardForward(network)
    model.adaptation(classes(0, 1))
    model.eval()
    model.adaptation(classes(8, 9))
    assert network.classes == [0, 1]
    assert torch.isfinite(LocalLoss()(model(x), y))
    tasks = MultiTaskForwardForward(sffa.Network(Toy.features, hidden=(40,), k=5))
    tasks.adaptation(classes(0, 1, task=0))
    tasks.eval()
    tasks.adaptation(classes(0, 1, task=1))
    output = tasks(x, torch.ones(4, dtype=torch.int64))
    assert (output == 0).all()
    assert LocalLoss()(output, y % 2) == 0


def test_a_plain_tensor_is_refused_by_the_criterion() -> None:
    with pytest.raises(ConfigurationError, match="needs the very output"):
        LocalLoss()(torch.zeros(2, 3), torch.zeros(2))


def test_a_benchmark_has_the_experiences_of_the_stream() -> None:
    stream = Stream(toy(), "task", 0, 3)
    benchmark = avalanche_run.benchmark(stream)
    for ours, theirs in zip(stream, benchmark.train_stream, strict=True):
        assert sorted(theirs.classes_in_this_experience) == sorted(ours.labels)
        assert theirs.task_label == ours.task
        assert len(theirs.dataset) == len(ours.train)


def test_methods_that_avalanche_lacks_are_named() -> None:
    with pytest.raises(ConfigurationError, match="no plugin for method 'si'"):
        avalanche_run.run(small("sffa", method="si"), toy())
    with pytest.raises(ConfigurationError, match="not a forward-forward network"):
        avalanche_run.run(small("bp"), toy())


def test_training_leaves_the_global_generator_alone() -> None:
    before = torch.random.get_rng_state()
    avalanche_run.run(small("sffa"), toy())
    assert torch.equal(torch.random.get_rng_state(), before)
