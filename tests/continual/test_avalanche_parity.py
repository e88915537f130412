"""Weights after three experiences equal Avalanche's: same data, order and initial weights.

Avalanche trains our baseline as its model, so that heads grow the same; its own loop, optimiser
handling and plugins do the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.conftest import why_no_avalanche
from tests.continual.toy import PAIRS, Toy, Unshuffled, small, toy
from torch import nn

from sffa.continual import Experience
from sffa.continual.strategies import replay as replay_file
from sffa.continual.views import Batch
from sffa.core import Backprop

if reason := why_no_avalanche():
    pytest.skip(reason, allow_module_level=True)

# Avalanche's own deprecations are not ours to fail on.
pytestmark = pytest.mark.filterwarnings("ignore")

SCENARIOS = ("class", "domain", "task")


def avalanche(name: str) -> Any:
    from sffa.integrations.avalanche_import import import_avalanche

    return import_avalanche(f"avalanche.{name}")


def as_model() -> Any:
    class Model(avalanche("models").DynamicModule):
        def __init__(self):
            super().__init__()
            self.learner = Backprop(Toy.features, (24, 24))

        def adaptation(self, experience):
            self.learner.add_classes(sorted(experience.classes_in_this_experience))

        def forward(self, x):
            return self.learner.outputs(x)

    return Model()


def as_model_with_heads() -> Any:
    """Return the baseline for Task IL: Avalanche tells it each example's task."""

    class Model(avalanche("models").MultiTaskModule):
        def __init__(self):
            super().__init__()
            self.learner = Backprop(Toy.features, (24, 24))

        def adaptation(self, experience):
            task = experience.current_experience
            self.learner.add_classes(PAIRS[task], task)

        def forward(self, x, task_labels):
            return self.learner.outputs(x, task_labels)

    return Model()


def with_avalanche(session: Unshuffled, plugins: list[Any], seen: list[Any]) -> Backprop:
    """Train with Avalanche; ``seen`` gets what each plugin's buffer holds after an experience."""
    utils = avalanche("benchmarks.utils.classification_dataset")
    benchmarks = avalanche("benchmarks")
    config = session.config
    heads = config.scenario == "task"
    parts = []
    for e in session.stream:
        y = e.train.y % 2 if heads else e.train.y  # a head's own outputs; PAIRS are in order
        pairs = torch.utils.data.TensorDataset(e.train.x, y)
        tasks = [e.index if heads else 0] * len(y)
        made = utils._make_taskaware_classification_dataset(
            pairs, targets=y.tolist(), task_labels=tasks
        )
        parts.append(made)
    benchmark = benchmarks.benchmark_from_datasets(train=parts)
    benchmark = avalanche("benchmarks.scenarios.supervised").with_classes_timeline(benchmark)
    if heads:
        benchmark = avalanche("benchmarks.scenarios.task_aware").with_task_labels(benchmark)
    model = as_model_with_heads() if heads else as_model()
    strategy = avalanche("training.supervised").Naive(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=config.lr),
        criterion=nn.CrossEntropyLoss(),
        train_mb_size=config.batch_size,
        train_epochs=config.epochs,
        plugins=plugins,
        evaluator=avalanche("training.plugins").EvaluationPlugin(),
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for experience in benchmark.train_stream:
            strategy.train(experience, shuffle=False)
            if plugins and hasattr(plugins[0], "storage_policy"):
                buffer = plugins[0].storage_policy.buffer
                seen.append(
                    [
                        torch.stack([buffer[i][0] for i in range(len(buffer))]),
                        torch.tensor([int(buffer[i][1]) for i in range(len(buffer))]),
                        torch.tensor([int(buffer[i][2]) for i in range(len(buffer))]),
                    ]
                )
    return model.learner


def distance(first: nn.Module, second: nn.Module) -> float:
    pairs = zip(first.state_dict().items(), second.state_dict().items(), strict=True)
    gaps = []
    for (name, a), (other, b) in pairs:
        assert name == other
        gaps.append(float((a - b).abs().max()))
    return max(gaps)


def train(session: Unshuffled) -> nn.Module:
    for experience in session.stream:
        session.learn(experience)
    return session.learner


PLUGINS = {
    "naive": lambda p: [],
    "ewc": lambda p: [p.EWCPlugin(ewc_lambda=1e5)],
    "ewc-online": lambda p: [p.EWCPlugin(ewc_lambda=1e5, mode="online", decay_factor=0.9)],
    "mas": lambda p: [p.MASPlugin(lambda_reg=1.0, alpha=0.5)],
}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("method", list(PLUGINS))
def test_weights_equal_avalanche(method: str, scenario: str) -> None:
    session = Unshuffled(small("bp", method=method, scenario=scenario), toy())
    theirs = with_avalanche(session, PLUGINS[method](avalanche("training.plugins")), [])
    assert distance(train(session), theirs) < 1e-5
    if method != "naive":
        assert distance(train(Unshuffled(small("bp", scenario=scenario), toy())), theirs) > 1e-3


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("capacity", [12, 40])
def test_replay_with_the_same_buffer_equals_avalanche(
    capacity: int, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer below and above the batch of 16: used whole, and in turns."""
    options = {"replay.capacity": capacity}
    session = Unshuffled(small("bp", method="replay", scenario=scenario, options=options), toy())
    seen: list[Any] = []
    plugin = avalanche("training.plugins").ReplayPlugin(mem_size=capacity)
    theirs = with_avalanche(session, [plugin], seen)

    class InOrder:
        def permutation(self, count: int) -> np.ndarray:
            return np.arange(count)

    monkeypatch.setattr(replay_file, "generator", lambda *_: InOrder())

    def take_theirs(learner: object, experience: Experience) -> None:
        x, y, task = seen[experience.index]
        if scenario == "task":
            y = y + 2 * task  # from a head's outputs back to classes
        else:
            task = torch.full_like(y, -1)
        session.strategy.buffers.update(x=x, y=y, task=task)

    monkeypatch.setattr(session.strategy, "after_experience", take_theirs)
    assert distance(train(session), theirs) < 1e-5


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_gem_with_the_same_memory_equals_avalanche(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Unshuffled(small("bp", method="gem", scenario=scenario), toy())
    plugin = avalanche("training.plugins").GEMPlugin(20, 0.5)
    theirs = with_avalanche(session, [plugin], [])

    def take_theirs(learner: object, experience: Experience) -> None:
        number = experience.index
        session.strategy.buffers[f"x.{number}"] = plugin.memory_x[number]
        if scenario == "task":
            session.strategy.buffers[f"y.{number}"] = plugin.memory_y[number] + 2 * number
            session.strategy.buffers[f"task.{number}"] = torch.tensor([number])
        else:
            session.strategy.buffers[f"y.{number}"] = plugin.memory_y[number]

    monkeypatch.setattr(session.strategy, "after_experience", take_theirs)
    assert distance(train(session), theirs) < 1e-5
    assert distance(train(Unshuffled(small("bp", scenario=scenario), toy())), theirs) > 1e-3


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_gem_with_the_same_samples_equals_avalanche(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"a-gem.patterns": 20, "a-gem.sample": 10}
    config = small("bp", method="a-gem", scenario=scenario, options=options)
    session = Unshuffled(config, toy())
    samples = []

    class Recorded(avalanche("training.plugins").AGEMPlugin):
        def sample_from_memory(self) -> Any:
            samples.append(super().sample_from_memory())
            return samples[-1]

    theirs = with_avalanche(session, [Recorded(20, 10)], [])
    drawn = iter(samples)

    def draw_theirs(past: list[Batch], clock: object) -> Batch:
        x, y, *_, task = next(drawn)
        assert len(y) == 10
        return Batch(x, y + 2 * task, task) if scenario == "task" else Batch(x, y, None)

    monkeypatch.setattr(session.strategy, "drawn", draw_theirs)
    assert distance(train(session), theirs) < 1e-5
    assert next(drawn, None) is None
    assert distance(train(Unshuffled(small("bp", scenario=scenario), toy())), theirs) > 1e-3


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_si_equals_avalanche_once_its_aliases_are_cured(
    scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = avalanche("training.plugins").SynapticIntelligencePlugin
    options = {"si.strength": 1e3}
    session = Unshuffled(small("bp", method="si", scenario=scenario, options=options), toy())
    naive = with_avalanche(session, [], [])
    aliased = with_avalanche(session, [plugin(1e3, eps=0.1)], [])
    if scenario != "task":
        assert distance(aliased, naive) == 0  # what makes a cure necessary

    def snapshot(model: nn.Module, target: dict[str, Any], excluded: set[str]) -> None:
        for name, parameter in plugin.allowed_parameters(model, excluded):
            target[name].data = parameter.detach().flatten().clone()

    monkeypatch.setattr(plugin, "extract_weights", staticmethod(snapshot))
    theirs = with_avalanche(session, [plugin(1e3, eps=0.1)], [])
    assert distance(train(session), theirs) < 1e-5
    assert distance(naive, theirs) > 1e-3
