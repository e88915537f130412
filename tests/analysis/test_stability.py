"""Stability: the trace is of the same training that the trainer does, and spikes are found."""

from __future__ import annotations

import numpy as np
import torch

from sffa.analysis import compare
from sffa.analysis.stability import Trace, TracedNetwork, trace
from sffa.core import Network, Trainer


def network(digits, **options) -> Network:
    net = TracedNetwork(64, hidden=(60,), classes=range(10), seed=1, **options)
    net.standardise(digits.mean, digits.std)
    return net


def test_tracing_trains_exactly_as_the_trainer(digits):
    plain, traced = (
        Trainer(network(digits), negatives="uniform", seed=5),
        Trainer(network(digits), negatives="uniform", seed=5),
    )
    plain.fit(digits.train.flat, digits.train.y, epochs=2, batch_size=256)
    trace(traced, digits.train.flat, digits.train.y, epochs=2, batch_size=256)
    for name, value in plain.learner.state_dict().items():
        assert torch.allclose(value, traced.learner.state_dict()[name], atol=1e-6), name


def test_trace_without_the_term_is_the_trainers_loss(digits):
    plain = Trainer(network(digits, activity="none"), negatives="uniform", seed=5)
    traced = Trainer(network(digits, activity="none"), negatives="uniform", seed=5)
    first = plain.step(digits.train.flat[:100], digits.train.y[:100])
    x, y = digits.train.flat[:100], digits.train.y[:100]
    found = trace(traced, x, y, epochs=1, batch_size=100)
    assert len(found.loss) == 1
    assert np.isclose(found.loss[0], float(first), rtol=0.2)


def test_comparison_starts_both_from_the_same_weights(digits):
    x, y = digits.train.flat[:256], digits.train.y[:256]
    traces = compare(x, y, 10, mean=digits.mean, std=digits.std, hidden=(60,), epochs=1)
    assert set(traces) == {"without", "with"}
    assert traces["without"].loss[0] == traces["with"].loss[0]


def test_spikes_are_measured_against_what_came_before():
    loss = np.ones(200)
    loss[100:] = 1.2
    loss[150] = 3
    assert Trace(loss, loss, 10).spikes().tolist() == [150]
    assert Trace(loss[:20], loss[:20], 10).spikes().tolist() == []


def test_rises_are_the_distance_from_the_median_before():
    loss = np.ones(200)
    loss[150] = 3
    rises = Trace(loss, loss, 10).rises()
    assert rises[150] == 2
    assert rises.sum() == 2
    assert not Trace(loss[:20], loss[:20], 10).rises().any()
