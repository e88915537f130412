"""One hold-out and one set of moments, with the bits their callers always had."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sffa.errors import ConfigurationError
from sffa.splits import hold_out
from sffa.standardise import ROUNDING, RunningMoments, feature_moments

Y = np.random.default_rng(3).integers(0, 4, 200)


def test_a_count_is_drawn_from_all_examples_as_the_first_format_did():
    kept, held = hold_out(Y, 30, np.random.default_rng(7))
    order = np.random.default_rng(7).permutation(200)
    np.testing.assert_array_equal(held, np.sort(order[:30]))
    np.testing.assert_array_equal(kept, np.sort(order[30:]))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.99])
def test_a_share_is_drawn_from_each_class_as_the_first_format_did(share: float):
    y, rng = torch.from_numpy(Y), np.random.default_rng(7)
    mask = torch.zeros(len(y), dtype=torch.bool)
    for label in torch.unique(y):
        rows = (y == label).nonzero().squeeze(1)
        count = min(round(share * len(rows)), len(rows) - 1)
        mask[rows[torch.from_numpy(rng.permutation(len(rows))[:count])]] = True
    kept, held = hold_out(y, share, np.random.default_rng(7))
    assert held.tolist() == mask.nonzero().squeeze(1).tolist()
    assert kept.tolist() == (~mask).nonzero().squeeze(1).tolist()


def test_the_last_example_of_a_class_is_never_held_out():
    kept, held = hold_out(["a", "b", "b"], 0.9, np.random.default_rng(0))
    assert 0 in kept
    assert len(held) == 1


@pytest.mark.parametrize("amount", [0, 200, -1, 1.0, -0.1, float("nan")])
def test_an_amount_that_leaves_a_part_empty_is_refused(amount: float):
    with pytest.raises(ConfigurationError, match="cannot hold out"):
        hold_out(Y, amount, np.random.default_rng(0))


def test_the_moments_of_a_stream_end_at_those_of_the_table():
    table = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1e3, 0, 1e-9] + [0, 5, 7, 0.1]
    running = RunningMoments()
    for part in np.array_split(table, 7):
        running.update(part)
    for ours, theirs in zip(
        feature_moments(table, rounding=ROUNDING), (running.mean, running.std), strict=True
    ):
        np.testing.assert_allclose(theirs, ours, rtol=1e-6)
