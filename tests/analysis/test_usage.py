"""Usage: where the activity is, whose it is, and which neurons take no part."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sffa.analysis import as_map, usage_of
from sffa.analysis.latents import latents
from sffa.analysis.usage import Usage


def made(by_class: list[list[float]]) -> Usage:
    table = np.array(by_class, dtype=float)
    none = np.zeros(table.shape[1], bool)
    return Usage(table.sum(axis=0), table, none, none, none, 1)


def test_activity_is_the_sum_of_the_latents(sffa, digits):
    layer = usage_of(sffa, digits.test.flat, digits.test.y)[0]
    columns = sffa.columns(digits.test.y)
    total = sum(
        layers[0].double().sum(dim=(0, 1)) for _, layers in latents(sffa, digits.test.flat, columns)
    )
    assert np.allclose(layer.activity, total.numpy(), rtol=1e-5, atol=1e-6)
    assert np.allclose(layer.by_class.sum(axis=0), layer.activity)


def test_preferred_class_and_specialisation_of_plain_cases():
    layer = made([[4, 1, 0, 2], [0, 1, 0, 0]])
    assert layer.preferred.tolist() == [0, 0, -1, 0]
    assert layer.specialisation.tolist() == [1, 0, 0, 1]


def test_concentration_counts_the_busiest_neurons():
    layer = made([[5, 4, 1, 0]])
    assert layer.concentration(0.9) == 2
    assert layer.concentration(0.91) == 3
    assert made([[0, 0]]).concentration() == 0


def test_a_neuron_that_cannot_fire_is_dead_and_others_are_not(ffa, digits):
    with torch.no_grad():
        kept = ffa.layers[0].bias[7].clone()
        ffa.layers[0].bias[7] = -1e6
        layer = usage_of(ffa, digits.test.flat, digits.test.y)[0]
        ffa.layers[0].bias[7] = kept
    assert layer.dead[7]
    assert layer.idle[7]
    assert not layer.dead.all()


def test_a_neuron_driven_to_the_top_is_saturated(sffa, digits):
    with torch.no_grad():
        kept = sffa.layers[0].bias[3].clone()
        sffa.layers[0].bias[3] = 1e3
        layer = usage_of(sffa, digits.test.flat, digits.test.y)[0]
        sffa.layers[0].bias[3] = kept
    assert layer.saturated[3]
    assert not layer.dead[3]


def test_unbounded_neurons_are_never_saturated(ffa, digits):
    assert not any(u.saturated.any() for u in usage_of(ffa, digits.test.flat, digits.test.y))


def test_dead_neurons_are_idle_and_have_no_activity(sffa, digits):
    for layer in usage_of(sffa, digits.test.flat, digits.test.y):
        assert (layer.idle | ~layer.dead).all()
        assert (layer.activity[layer.dead] == 0).all()


@pytest.mark.parametrize("neurons", [1, 27, 28, 100, 1400])
def test_map_holds_every_neuron_once(neurons):
    picture = as_map(np.arange(neurons))
    assert picture.shape[0] == 28
    assert np.array_equal(picture[~np.isnan(picture)], np.arange(neurons))
