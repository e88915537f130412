"""Compiled loops: the k largest drives of a half, and what becomes of them."""

from __future__ import annotations

import numpy as np

from sffa.kernels import lanes
from sffa.kernels.lanes import LANES
from sffa.kernels.loops import MATH, TINY, inlined, loop

_U = np.uint32
_L = np.uint64
_F = np.float32

UNIT, LITERAL, RMS = 0, 1, 2


def blocks_for(k: int) -> int:
    """Return into how many interleaved blocks a half is cut for the search of its k winners."""
    return LANES * -(-2 * k // LANES)


@inlined
def room(width, blocks):  # type: ignore[no-untyped-def]
    """Return memory for two halves of drives, and what `respond` works with."""
    drive = np.zeros(width + blocks + LANES, _F)
    most = width // 2 + LANES
    return drive, (np.empty(blocks, _F), np.empty(most, _U), np.zeros(most, _F))


@inlined
def _lower_bound(maxima, size, k):  # type: ignore[no-untyped-def]
    """Bisect for a value that k of the maxima of ``size`` drives reach, or a few more."""
    low, high = lanes.extremes(maxima, 0, size)
    for block in range(LANES, min(maxima.size, size), LANES):
        lower, higher = lanes.extremes(maxima, block, size - block)
        low, high = min(low, lower), max(high, higher)
    for _ in range(24):
        middle = _F(0.5) * (low + high)
        reached = 0
        for block in range(0, maxima.size, LANES):
            reached += lanes.count(lanes.reached(maxima, block, middle))
        if reached < k:
            high = middle
        else:
            low = middle
            if reached == k:
                break
    return low


@inlined
def _least(value, k):  # type: ignore[no-untyped-def]
    """Return the smallest of ``value[:k]`` and its place."""
    least = value[0]
    place = 0
    for i in range(1, k):
        smaller = value[i] < least
        least = value[i] if smaller else least
        place = i if smaller else place
    return least, place


@inlined
def _keep_largest(found, value, count, k):  # type: ignore[no-untyped-def]
    """Bring the k largest of ``count`` values, and their places in ``found``, to the front."""
    least, place = _least(value, k)
    for i in range(k, count):
        if value[i] > least:
            value[place] = value[i]
            found[place] = found[i]
            least, place = _least(value, k)


@inlined
def _select(drive, start, size, k, scratch):  # type: ignore[no-untyped-def]
    """Put places and values of the k largest of ``drive[start:start + size]`` first in scratch.

    Block b holds the drives b, b+blocks, b+2·blocks, …. What k maxima of blocks reach, at least k
    drives reach: the winners are among the drives that reach that bound, and those are in the few
    blocks whose maximum does.
    """
    maxima, found, value = scratch
    blocks = maxima.size
    for block in range(0, blocks, LANES):
        lanes.maxima(drive, start + block, size - block, blocks, maxima, block)
    bound = _lower_bound(maxima, size, k)
    count = _L(0)
    for block in range(0, blocks, LANES):
        hits = lanes.reached(maxima, block, bound)
        while hits:
            j = _L(block) + lanes.first(hits)
            hits &= hits - _L(1)
            while j < _L(size):
                z = drive[_L(start) + j]
                found[count] = _U(j)
                value[count] = z
                count += _L(z >= bound)
                j += _L(blocks)
    if count < _L(k):  # only when a drive is not a number: let it through, the loss will tell
        for i in range(k):
            found[i] = _U(i)
            value[i] = drive[start + i]
    elif count > _L(k):
        _keep_largest(found, value, np.int64(count), k)


@inlined
def _sigmoid(z):  # type: ignore[no-untyped-def]
    """Return 1 / (1 + exp(-z)), to two units in the last place, of several numbers at a time.

    exp(t) is 2 to the power of a whole number, whose bits are set, times exp of a remainder below
    0.35, by a polynomial.
    """
    t = _F(-87) if -z < _F(-87) else -z  # such that what is not a number stays so
    t = _F(88) if t > _F(88) else t
    whole = np.floor(t * _F(1.44269504) + _F(0.5))
    rest = t - whole * _F(0.693359375) + whole * _F(2.12194440e-4)
    part = _F(1.9875691500e-4)
    part = part * rest + _F(1.3981999507e-3)
    part = part * rest + _F(8.3334519073e-3)
    part = part * rest + _F(4.1665795894e-2)
    part = part * rest + _F(1.6666665459e-1)
    part = part * rest + _F(5.0000001201e-1)
    power = lanes.float_of(np.int32((np.int32(whole) + 127) << 23))
    return _F(1) / (_F(1) + (part * rest * rest + rest + _F(1)) * power)


@loop(fastmath=MATH)
def _activate(drive, k, relu, norm, neurons, active, latent):  # type: ignore[no-untyped-def]
    """Activate one half's winning drives; write latents and the same normalised.

    Return their energy and their sum.
    """
    if relu:
        for s in range(k):
            drive[s] = max(drive[s], _F(0))
    else:
        for s in range(_L(k + 7) & ~_L(7)):  # whole vectors: what lies behind is not used
            drive[s] = _sigmoid(drive[s])
    energy = total = _F(0)
    for s in range(k):
        h = drive[s]
        active[s] = h
        energy += h * h
        total += h
    safe = max(energy, _F(TINY))
    factor = _F(1) / safe if norm == LITERAL else _F(1) / np.sqrt(safe)
    if norm == RMS:
        factor *= np.sqrt(_F(neurons))
    for s in range(k):
        latent[s] = drive[s] * factor
    return energy, total


@loop()
def respond(drive, half, k, scratch, relu, norm, neurons, outputs, b, c):  # type: ignore[no-untyped-def]
    """Find and activate the k winners of each half of ``drive``; places are in the whole."""
    place, active, latent, energy, activity = outputs
    activity[b, c] = _F(0)
    for side in range(2):
        _select(drive, side * half, half, k, scratch)
        start, stop = side * k, (side + 1) * k
        for s in range(k):
            place[b, c, start + s] = scratch[1][s] + _U(side * half)
        energy[b, c, side], total = _activate(
            scratch[2], k, relu, norm, neurons, active[b, c, start:stop], latent[b, c, start:stop]
        )
        activity[b, c] += total
