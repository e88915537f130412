"""Sparsity: the Hoyer score, the count of active neurons, and both on trained networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sffa.analysis import hoyer, sparsity_of
from sffa.analysis.latents import latents, wrong_columns
from sffa.analysis.sparsity import highly_active
from sffa.core import Backprop
from sffa.errors import ConfigurationError, DataError

values = st.lists(st.floats(0, 100).map(lambda v: round(v, 3)), min_size=2, max_size=30)


@given(values, st.floats(0.01, 100))
def test_hoyer_lies_between_zero_and_one_and_ignores_scale(latent, scale):
    h = torch.tensor(latent, dtype=torch.float64)
    score = float(hoyer(h))
    assert -1e-9 <= score <= 1 + 1e-9
    assert float(hoyer(h * scale)) == pytest.approx(score, abs=1e-9)


@given(st.integers(2, 50), st.integers(1, 50))
def test_hoyer_of_m_equal_neurons_is_known(n, m):
    m = min(m, n)
    h = torch.zeros(n, dtype=torch.float64)
    h[:m] = 0.3
    expected = (n**0.5 - m**0.5) / (n**0.5 - 1)
    assert float(hoyer(h)) == pytest.approx(expected, abs=1e-9)


def test_hoyer_of_silence_is_one():
    assert float(hoyer(torch.zeros(5))) == 1


@given(values)
def test_no_more_than_a_hundred_neurons_hold_more_than_a_hundredth(latent):
    h = torch.tensor(latent * 10, dtype=torch.float64)
    assert int(highly_active(h)) <= 100


def test_wrong_columns_are_never_right_and_cover_all_others(sffa, rng):
    right = torch.arange(10).repeat(200)
    wrong = wrong_columns(sffa, right, rng)
    assert bool((wrong != right).all())
    for column in range(10):
        assert set(wrong[right == column].tolist()) == set(range(10)) - {column}


def test_latents_of_sffa_have_k_winners_in_each_half(sffa, digits):
    columns = sffa.columns(digits.test.y[:20])
    for _, layers in latents(sffa, digits.test.flat[:20], columns):
        for latent in layers:
            half = latent.shape[-1] // 2
            assert int((latent[..., :half] > 0).sum(-1).max()) == sffa.config.k
            assert int((latent[..., half:] > 0).sum(-1).max()) == sffa.config.k


def test_blocks_do_not_change_latents(sffa, digits):
    columns = sffa.columns(digits.test.y)
    x = digits.test.flat
    whole = torch.cat([layers[0] for _, layers in latents(sffa, x, columns, block=1000)])
    parts = torch.cat([layers[0] for _, layers in latents(sffa, x, columns, block=7)])
    assert torch.allclose(whole, parts, atol=1e-5)


def test_sffa_is_sparser_than_ffa_for_positive_inputs(sffa, ffa, digits):
    ours = sparsity_of(sffa, digits.test.flat, digits.test.y, np.random.default_rng(0))
    theirs = sparsity_of(ffa, digits.test.flat, digits.test.y, np.random.default_rng(0))
    assert ours.hoyer["positive"].shape == (2, 360)
    assert ours.active["negative"].max() <= 2 * sffa.config.k
    assert ours.mean_hoyer()["positive"] > theirs.mean_hoyer()["positive"]


def test_same_generator_same_result_and_network_untouched(sffa, digits):
    before = {name: value.clone() for name, value in sffa.state_dict().items()}
    first = sparsity_of(sffa, digits.test.flat, digits.test.y, np.random.default_rng(3))
    second = sparsity_of(sffa, digits.test.flat, digits.test.y, np.random.default_rng(3))
    assert np.array_equal(first.hoyer["negative"], second.hoyer["negative"])
    assert all(torch.equal(before[name], value) for name, value in sffa.state_dict().items())


def test_backprop_is_refused_with_the_reason(digits, rng):
    with pytest.raises(ConfigurationError, match="Backprop"):
        sparsity_of(Backprop(64, (8,), range(10)), digits.test.flat, digits.test.y, rng)


def test_labels_and_examples_must_match(sffa, digits):
    with pytest.raises(DataError, match="3 examples"):
        list(latents(sffa, digits.test.flat[:3], torch.zeros(2, dtype=torch.int64)))
