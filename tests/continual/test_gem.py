from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.continual.toy import small, toy

from sffa.continual import Clock, ContinualRun
from sffa.continual.strategies.gem import combination, gram_matrix
from sffa.errors import ConfigurationError


@given(
    count=st.integers(1, 6),
    size=st.integers(1, 30),
    least=st.sampled_from([0.0, 0.5, 2.0]),
    seed=st.integers(0, 10_000),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
)
def test_the_combination_satisfies_the_kkt_conditions(
    count: int, size: int, least: float, seed: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    past, current = scale * rng.normal(size=(count, size)), scale * rng.normal(size=size)
    matrix, linear = past @ past.T + 1e-3 * np.eye(count), past @ current
    v = combination(past @ past.T, linear, least)
    slope = matrix @ v + linear
    size_of_terms = 1 + np.abs(matrix).max() * (1 + np.abs(v).max())
    assert (v >= least - 1e-12).all()
    assert (slope >= -1e-8 * size_of_terms).all()
    assert np.abs(slope * (v - least)).max() <= 1e-8 * size_of_terms * (1 + np.abs(v).max())


def test_the_gram_matrix_is_exact_in_double_precision() -> None:
    rows = torch.randn(4, 300_000, generator=torch.Generator().manual_seed(0))
    wide = rows.double().numpy()
    exact = np.array([[math.fsum(one * other) for other in wide] for one in wide])
    error = np.abs(gram_matrix(rows) - exact).max()
    assert error < 1e-12 * exact.max(), "products in single precision are off by some 1e-7"


@pytest.mark.parametrize("algorithm", ["bp", "sffa"])
def test_the_projected_gradient_never_opposes_the_past(algorithm: str) -> None:
    course = ContinualRun(small(algorithm, method="gem", options={"gem.strength": 0.0}), toy())
    course.learn(course.stream[0])
    course.enter(course.stream[1])
    learner, strategy = course.learner, course.strategy
    batch = course.stream[1].train.take(slice(0, 16))
    learner.loss(*batch).backward()
    rows = strategy.rows(learner, 2)
    strategy.write(rows[1], learner, strategy.past(Clock(1, 0, 0))[0])
    strategy.write_current(rows[0], learner)
    rows[0].sub_(3 * rows[1])  # make sure that it does oppose
    strategy.read_current(rows[0], learner)
    strategy.after_backward(learner, Clock(1, 0, 0))
    strategy.write_current(rows[0], learner)
    after = gram_matrix(rows)
    assert after[0, 1] > -0.01 * after[1, 1]


def test_a_sample_bounds_what_a_step_asks_and_a_pickle_holds_no_gradients() -> None:
    options = {"gem.sample": 3, "gem.policy": "class"}
    course = ContinualRun(small("sffa", method="gem", options=options), toy())
    course.learn(course.stream[0])
    course.learn(course.stream[1])
    strategy, clock = course.strategy, Clock(2, 0, 0)
    past = strategy.past(clock)
    drawn = strategy.draw_each(past, 3, "gem", clock)
    assert [len(batch.y) for batch in drawn] == [3] * len(past)
    assert all((batch.y == episode.y[0]).all() for batch, episode in zip(drawn, past, strict=True))
    again = strategy.draw_each(past, 3, "gem", clock)
    assert all((one.x == other.x).all() for one, other in zip(drawn, again, strict=True))
    strategy.rows(course.learner, 5)
    assert len(pickle.dumps(strategy)) < 4 * 5 * sum(p.numel() for p in course.learner.parameters())
    with pytest.raises(ConfigurationError, match=r"gem.sample must be 1 or more, got 0"):
        ContinualRun(small("sffa", method="gem", options={"gem.sample": 0}), toy())
