"""The update dynamics: closed forms, automatic differentiation and the paper's two cases agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from sffa.analysis import dynamics
from sffa.errors import ConfigurationError

energies = st.floats(1e-4, 1e4)
rates = st.floats(1e-4, 1.0)
FUNCTIONS = {"identity": torch.clone, "relu": torch.relu, "sigmoid": torch.sigmoid}


def layer(seed: int, inputs: int, neurons: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    weight = torch.from_numpy(rng.normal(size=(inputs, neurons)))
    return weight, torch.from_numpy(rng.normal(size=inputs))


@pytest.mark.parametrize("activation", FUNCTIONS)
@given(seed=st.integers(0, 10_000), inputs=st.integers(1, 6), half=st.integers(1, 8))
def test_closed_gradient_is_autograds(activation, seed, inputs, half):
    weight, x = layer(seed, inputs, 2 * half)
    h = FUNCTIONS[activation](x @ weight)
    assume(float(h[:half].square().sum()) > 1e-3)
    closed = dynamics.closed_gradient(weight, x, activation)
    auto = dynamics.autograd_gradient(weight, x, activation)
    assert torch.allclose(closed, auto, rtol=1e-6, atol=1e-6 * float(auto.abs().max()) + 1e-12)


@given(positive=energies, negative=energies, alpha=rates)
def test_recurrence_is_one_gradient_step_of_a_linear_layer(positive, negative, alpha):
    path = dynamics.descend(positive, negative, alpha, steps=1, activation="identity")
    assert np.allclose(
        (path.positive[1], path.negative[1]),
        dynamics.step(positive, negative, alpha),
        rtol=1e-6,
        atol=1e-9 * (positive + negative),
    )


@given(positive=energies, negative=energies, alpha=rates)
def test_recurrence_is_one_gradient_step_of_a_relu_layer_while_2_alpha_s_is_below_one(
    positive, negative, alpha
):
    assume(2 * alpha / (positive + negative) < 0.999)
    path = dynamics.descend(positive, negative, alpha, steps=1, activation="relu")
    expected = dynamics.step(positive, negative, alpha)
    assert np.allclose((path.positive[1], path.negative[1]), expected, rtol=1e-6, atol=1e-12)


@given(positive=energies, negative=energies, alpha=rates)
def test_goodness_rises_exactly_under_its_condition(positive, negative, alpha):
    ratio, inverse = dynamics.factors(positive, negative)
    assume(abs(alpha * inverse * (1 - ratio) - 1) > 1e-6)
    grown, shrunk = dynamics.step(positive, negative, alpha)
    before, after = negative / positive, shrunk / grown
    assert (after < before) == dynamics.goodness_rises(positive, negative, alpha)


@given(positive=energies, negative=energies, alpha=rates)
def test_goodness_rises_wherever_the_paper_says_so(positive, negative, alpha):
    assume(2 * alpha / (positive + negative) < 1)
    assert dynamics.goodness_rises(positive, negative, alpha)


@given(positive=energies, negative=energies, alpha=rates)
def test_total_activity_never_falls_and_gains_what_the_formula_says(positive, negative, alpha):
    path = dynamics.simulate(positive, negative, alpha, steps=1)
    gain = dynamics.gained_activity(positive, negative, alpha)
    assert gain >= 0
    assert path.total[1] == pytest.approx(path.total[0] + gain, rel=1e-9)


@given(positive=energies, negative=energies, alpha=rates)
def test_total_activity_of_a_relu_layer_never_falls_either(positive, negative, alpha):
    path = dynamics.descend(positive, negative, alpha, steps=3, activation="relu")
    assert (np.diff(path.total) >= -1e-9 * path.total[:-1]).all()


@given(positive=st.floats(1e-2, 1e2), negative=st.floats(1e-2, 1e2), alpha=st.floats(1e-3, 1.0))
def test_direction_is_the_slope_of_the_update(positive, negative, alpha):
    grown, shrunk = dynamics.step(positive, negative, alpha)
    assume(abs(grown - positive) > 1e-6 * positive)
    slope = (shrunk - negative) / (grown - positive)
    expected = dynamics.direction(positive, negative, alpha)
    assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(positive=energies, negative=energies, alpha=rates)
def test_direction_comes_nearer_to_minus_one_along_the_updates(positive, negative, alpha):
    assume(2 * alpha / (positive + negative) < 1)
    path = dynamics.simulate(positive, negative, alpha, steps=20)
    pairs = zip(path.positive, path.negative, strict=True)
    distance = [abs(dynamics.direction(e, i, alpha) + 1) for e, i in pairs]
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(distance))


@given(positive=energies, negative=energies)
def test_direction_tends_to_minus_one_with_the_rate(positive, negative):
    alpha = 1e-9 * positive * positive / (positive + negative)
    assert dynamics.direction(positive, negative, alpha) == pytest.approx(-1, abs=1e-6)


def test_case_a_leaves_rest_in_one_leap_and_then_goes_straight():
    path = dynamics.simulate(*dynamics.CASES["A"])
    assert path.total[1] > 20 * path.total[0]
    assert path.goodness[0] == pytest.approx(1 / 3)
    assert path.goodness[-1] > 0.99
    slopes = np.diff(path.negative)[1:] / np.diff(path.positive)[1:]
    assert np.allclose(slopes, -1, atol=0.1)


def test_case_b_walks_straight_to_the_positive_axis_in_ever_smaller_steps():
    path = dynamics.simulate(*dynamics.CASES["B"])
    assert len(path.total) == 21
    assert (np.diff(path.goodness) > 0).all()
    assert path.goodness[-1] > 0.95
    assert path.negative[-1] < 0.05
    slopes = np.diff(path.negative) / np.diff(path.positive)
    assert ((slopes > -1) & (slopes < -0.7)).all()
    assert np.diff(path.goodness)[-1] < 0.1 * np.diff(path.goodness).max()


def test_case_a_starts_outside_the_papers_condition_and_kills_negative_relu_neurons():
    _, inverse = dynamics.factors(*dynamics.CASES["A"])
    assert 2 * dynamics.ALPHA * inverse > 1
    path = dynamics.descend(*dynamics.CASES["A"], activation="relu")
    assert path.negative[1] == 0


@pytest.mark.parametrize("case", ["A", "B"])
def test_simulation_and_autograd_draw_the_same_path(case):
    start = dynamics.CASES[case]
    closed, auto = dynamics.simulate(*start), dynamics.descend(*start, activation="identity")
    assert np.allclose(closed.positive, auto.positive, rtol=1e-6)
    assert np.allclose(closed.negative, auto.negative, rtol=1e-6)


@pytest.mark.parametrize("point", [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (float("nan"), 1.0)])
def test_impossible_energies_are_refused(point):
    with pytest.raises(ConfigurationError, match="energies"):
        dynamics.factors(*point)


def test_unknown_activation_is_refused_by_name():
    with pytest.raises(ConfigurationError, match="tanh"):
        dynamics.closed_gradient(torch.ones(1, 2), torch.ones(1), "tanh")
