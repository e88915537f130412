"""Compiled loops: the loss of an SFFA layer and its derivatives, in one call.

The formulas are those of `sffa.core.objective`, where they stand in torch for every device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sffa.kernels.loops import TINY, inlined, loop

_F = np.float32

NO_TERM, MULTIPLY, ADD = 0, 1, 2


class LossOptions(NamedTuple):
    """What a layer's loss is made of; ``term`` is the activity's, ``l1`` its norm."""

    contrast: bool
    temperature: float
    epsilon: float
    clamp: float
    term: int
    alpha: float
    l1: bool


@inlined
def _counts(weight, b):  # type: ignore[no-untyped-def]
    """Return what an example counts; no weights: one."""
    return _F(1) if weight.size == 0 else weight[b]


@loop()
def find_right(candidates, column, weight, right):  # type: ignore[no-untyped-def]
    """Fill ``right`` (batch,) with the place of each label's column among its candidates.

    Return what all examples count together, and all inputs under their right and wrong labels;
    less than nothing where a label is not among its candidates.
    """
    examples = rights = wrongs = 0.0
    for b in range(column.size):
        right[b] = -1
        counts = _counts(weight, b)
        examples += counts
        for c in range(candidates.shape[1]):
            if candidates[b, c] == column[b]:
                right[b] = c
                rights += counts
            elif candidates[b, c] >= 0:
                wrongs += counts
        if right[b] < 0:
            return -1.0, -1.0, -1.0
    return examples, rights, wrongs


@inlined
def _bce_row(candidates, right, energy, share, options, slopes):  # type: ignore[no-untyped-def]
    """Fill the slopes (candidates, 2) of one example's cross-entropy, and return it."""
    epsilon, clamp = _F(options.epsilon), _F(options.clamp)
    loss = 0.0
    for c in range(candidates.size):
        slopes[c, 0] = slopes[c, 1] = _F(0)
        if candidates[c] < 0:
            continue
        side = 0 if c == right else 1
        total = energy[c, 0] + energy[c, 1] + 2 * epsilon
        own = energy[c, side] + epsilon
        good = own / total
        loss -= np.log(min(max(good, clamp), 1 - clamp)) * share
        if clamp <= good <= 1 - clamp:
            slopes[c, side] = (1 / total - 1 / own) * share
            slopes[c, 1 - side] = share / total
    return loss


@inlined
def _contrast_row(candidates, right, energy, share, options, slopes):  # type: ignore[no-untyped-def]
    """Fill the slopes (candidates, 2) of one example's softmax over labels; return its loss."""
    epsilon, cold = _F(options.epsilon), _F(1 / options.temperature)
    largest = _F(-np.inf)
    for c in range(candidates.size):
        if candidates[c] >= 0:
            odds = np.log(energy[c, 0] + epsilon) - np.log(energy[c, 1] + epsilon)
            slopes[c, 0] = odds * cold
            largest = max(largest, slopes[c, 0])
    total = _F(0)
    for c in range(candidates.size):
        if candidates[c] >= 0:
            total += np.exp(slopes[c, 0] - largest)
    loss = (largest + np.log(total) - slopes[right, 0]) * share
    for c in range(candidates.size):
        outer = _F(0)
        if candidates[c] >= 0:
            outer = np.exp(slopes[c, 0] - largest) / total - _F(c == right)
            outer *= share * cold
        slopes[c, 0] = outer / (energy[c, 0] + epsilon)
        slopes[c, 1] = -outer / (energy[c, 1] + epsilon)
    return loss


@inlined
def _activity_of(total, energy, width, l1):  # type: ignore[no-untyped-def]
    """Return the mean activity of an input from the sum of its latents and its energies."""
    return total / _F(width) if l1 else np.sqrt((energy[0] + energy[1]) / _F(width) + _F(TINY))


@inlined
def _add_term(aims, energy, activity, width, options, entropy, to_energy, to_total):  # type: ignore[no-untyped-def]
    """Put the activity term into the slopes and return the loss with it.

    ``to_total`` (batch, candidates) is filled with the slopes by the sum of the latents.
    """
    candidates, right, weight, sums = aims
    rights, wrongs = 1 / max(sums[1], TINY), 1 / max(sums[2], TINY)
    mean = 0.0
    for b in range(right.size):
        for c in range(candidates.shape[1]):
            to_total[b, c] = _F(0)
            if candidates[b, c] >= 0:
                to_total[b, c] = _counts(weight, b) * (rights if c == right[b] else wrongs)
                own = _activity_of(activity[b, c], energy[b, c], width, options.l1)
                mean += to_total[b, c] * own
    push = np.exp(-options.alpha * mean)
    scale = _F(1 + push if options.term == MULTIPLY else 1)
    slope = -options.alpha * push * (entropy if options.term == MULTIPLY else 1.0)
    for b in range(right.size):
        for c in range(candidates.shape[1]):
            to_energy[b, c, 0] *= scale
            to_energy[b, c, 1] *= scale
            share = _F(slope / width) * to_total[b, c]
            if not options.l1:
                share /= 2 * _activity_of(activity[b, c], energy[b, c], width, False)
                to_energy[b, c, 0] += share
                to_energy[b, c, 1] += share
            to_total[b, c] = share if options.l1 else _F(0)
    return entropy * (1 + push) if options.term == MULTIPLY else entropy + push


@loop()
def layer_slopes(  # type: ignore[no-untyped-def]
    aims, energy, activity, width, options, to_energy, to_activity
):
    """Fill the derivatives of a layer's loss by its energies and its activity; return the loss.

    ``aims`` are candidates, what `find_right` filled, weights, and what it returned; ``activity``
    is the sum of the latents.
    """
    candidates, right, weight, sums = aims
    examples, inputs = 1 / max(sums[0], TINY), 1 / max(sums[1] + sums[2], TINY)
    entropy = 0.0
    for b in range(right.size):
        labels, own, slopes, counts = candidates[b], energy[b], to_energy[b], _counts(weight, b)
        if options.contrast:
            entropy += _contrast_row(labels, right[b], own, _F(counts * examples), options, slopes)
        else:
            entropy += _bce_row(labels, right[b], own, _F(counts * inputs), options, slopes)
    if options.term == NO_TERM:
        to_activity[:] = _F(0)
        return entropy
    return _add_term(aims, energy, activity, width, options, entropy, to_energy, to_activity)
