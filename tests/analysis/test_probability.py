"""Surfaces, calibration, separation and depth: what the goodness says and what it is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sffa.analysis import (
    accuracy_by_layer,
    calibration_of,
    familiarity,
    ffa_surface,
    noise,
    reliability,
    separation,
    sffa_surface,
)
from sffa.analysis.calibration import probabilities
from sffa.core import accuracy
from sffa.errors import ConfigurationError, DataError

unit = st.floats(0, 1)


def test_sffa_surface_is_symmetric():
    p = sffa_surface(points=11).p
    assert np.allclose(p, 1 - p.T)


def test_sffa_surface_reaches_both_ends_and_ffas_never_reaches_zero():
    assert sffa_surface().p.min() < 1e-6
    assert ffa_surface().p[20, 0] == pytest.approx(1 / (1 + np.exp(2)))  # θ = 2, at rest
    assert ffa_surface().p.min() > 0


def test_ffa_surface_rises_with_activity_and_falls_with_the_threshold():
    p = ffa_surface().p
    assert (np.diff(p, axis=1) > 0).all()
    assert (np.diff(p, axis=0) < 0).all()


@given(arrays(np.float64, st.integers(1, 60), elements=unit), st.integers(0, 2**32 - 1))
def test_calibration_error_lies_between_zero_and_one_and_bins_hold_everything(p, seed):
    right = np.random.default_rng(seed).random(len(p)) < 0.5
    curve = reliability(p, right)
    assert 0 <= curve.error <= 1
    assert curve.count.sum() == len(p)


def test_perfectly_sure_and_right_is_perfectly_calibrated():
    assert reliability(np.array([1.0, 0.0, 1.0]), np.array([True, False, True])).error == 0


def test_sure_and_wrong_is_worst():
    assert reliability(np.ones(5), np.zeros(5, bool)).error == 1


def test_probabilities_outside_the_unit_interval_are_refused():
    with pytest.raises(DataError, match=r"\[0, 1\]"):
        reliability(np.array([1.2]), np.array([True]))


def test_calibration_counts_every_pair_and_every_example(sffa, digits):
    result = calibration_of(sffa, digits.test.flat, digits.test.y)
    assert result.pairs.count.sum() == 3600
    assert result.predicted.count.sum() == 360
    p = probabilities(sffa, digits.test.flat)
    assert p.shape == (360, 10)
    assert float(p.min()) >= 0
    assert float(p.max()) <= 1


def test_separation_of_equal_scores_is_chance_and_of_distinct_ones_perfect():
    assert separation(np.zeros(5), np.zeros(7)).auroc == 0.5
    apart = separation(np.linspace(1, 2, 50), np.linspace(-1, 0, 50))
    assert (apart.auroc, apart.fpr95) == (1.0, 0.0)
    assert separation(np.zeros(5), np.ones(5)).auroc == 0


def test_fpr95_is_the_share_of_foreign_inputs_above_the_threshold():
    familiar = np.arange(100.0)  # 95 % lie at 5 or above
    foreign = np.array([4.0, 4.5, 5.5, 200.0])
    assert separation(familiar, foreign).fpr95 == 0.5


def test_noise_is_even_and_of_the_asked_shape(rng):
    pixels = noise(200, 64, rng)
    assert pixels.shape == (200, 64)
    assert pixels.dtype == np.uint8
    assert abs(pixels.mean() - 127.5) < 3


@pytest.mark.parametrize("score", ["goodness", "margin", "energy"])
def test_every_score_gives_one_finite_number_an_input(sffa, digits, score):
    values = familiarity(sffa, digits.test.flat, score)
    assert values.shape == (360,)
    assert np.isfinite(values).all()


def test_goodness_score_is_the_best_labels(sffa, digits):
    best = sffa.scores(digits.test.flat).max(axis=1)
    assert np.allclose(familiarity(sffa, digits.test.flat), best, atol=1e-6)


def test_margin_is_what_the_best_label_has_over_the_second(sffa, digits):
    ordered = np.sort(sffa.scores(digits.test.flat), axis=1)
    margin = familiarity(sffa, digits.test.flat, "margin")
    assert np.allclose(margin, ordered[:, -1] - ordered[:, -2], atol=1e-6)


def test_unknown_score_names_the_nearest(sffa, digits):
    with pytest.raises(ConfigurationError, match="did you mean 'margin'"):
        familiarity(sffa, digits.test.flat, "margn")


def test_empty_side_is_refused():
    with pytest.raises(DataError, match="empty"):
        separation(np.zeros(0), np.ones(3))


def test_accuracy_by_layer_agrees_with_the_trainers(sffa, digits):
    total, layers = accuracy(sffa, digits.test.flat, digits.test.y)
    found = accuracy_by_layer(sffa, digits.test.flat, digits.test.y)
    assert found.alone == pytest.approx(layers)
    assert found.upto[-1] == pytest.approx(total)
    assert found.upto[0] == pytest.approx(layers[0])
