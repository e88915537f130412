"""What every algorithm promises, with every kind of negatives and every schedule."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from tests.contracts.learners import WAYS, same, snapshot, trainer

from sffa import Network
from sffa.core.trainer import accuracy

pytestmark = pytest.mark.parametrize(("algorithm", "negatives", "schedule"), WAYS)


def test_the_loss_falls_and_the_digits_are_told_apart(algorithm, negatives, schedule, digits):
    x, y = digits
    teacher = trainer(algorithm, negatives, schedule)
    history = teacher.fit(x, y, epochs=6, batch_size=50)
    layers = sorted({epoch.layer for epoch in history}, key=str)
    assert layers == ([0, 1] if schedule == "greedy" else [None])
    for layer in layers:
        losses = [epoch.loss for epoch in history if epoch.layer == layer]
        assert losses[-1] < 0.85 * losses[0]
    assert accuracy(teacher.learner, x, y)[0] > 70


def test_the_same_seed_gives_the_same_bits(algorithm, negatives, schedule, digits):
    x, y = digits
    runs = []
    for seed in (0, 0, 1):
        torch.manual_seed(len(runs))  # whatever the global generator holds
        teacher = trainer(algorithm, negatives, schedule, seed)
        history = teacher.fit(x[:120], y[:120], epochs=2, batch_size=32)
        runs.append((snapshot(teacher.learner), [epoch.loss for epoch in history]))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert not same(runs[0][0], runs[2][0])


def test_evaluation_changes_neither_weights_nor_the_next_step(
    algorithm, negatives, schedule, digits, tmp_path
):
    x, y = digits
    watched, alone = (trainer(algorithm, negatives, schedule) for _ in range(2))
    for start in range(0, 160, 40):
        batch = x[start : start + 40], y[start : start + 40]
        before = snapshot(watched.learner)
        rng = watched.rng.bit_generator.state
        watched.learner.scores(x)
        watched.learner.predict(x.numpy())
        accuracy(watched.learner, x, y)
        if isinstance(watched.learner, Network):
            watched.learner.layer_scores(x[:5])
        watched.learner.loss(*batch)
        watched.save(tmp_path / "model.safetensors")
        assert same(before, snapshot(watched.learner))
        assert watched.rng.bit_generator.state == rng
        assert torch.equal(watched.step(*batch), alone.step(*batch))
    assert same(snapshot(watched.learner), snapshot(alone.learner))


def test_nobody_touches_the_global_generators(algorithm, negatives, schedule, digits):
    x, y = digits
    legacy = np.random.get_state()  # noqa: NPY002
    state = torch.get_rng_state(), legacy[1].copy(), legacy[2], random.getstate()
    teacher = trainer(algorithm, negatives, schedule)
    teacher.fit(x[:64], y[:64], watch={"test": (x[:8], y[:8])})
    legacy = np.random.get_state()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), state[0])
    assert (legacy[1] == state[1]).all()
    assert (legacy[2], random.getstate()) == state[2:]
