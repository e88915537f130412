"""Compiled loops: choose winners, gather weights, scatter gradients; pull weights back.

A loop goes through the rows from ``first`` to ``last``, so that `sffa.kernels.openmp` can run parts
of it side by side; each part writes rows of its own and sums in a fixed order. numba's own parallel
loops would take ten times as long to compile and a second to load. Indices are unsigned: a signed
index makes numba test each one for Python's counting from the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

# Sums may be reordered and fused; NaN and infinity keep their meaning.
_MATH = {"reassoc", "contract", "nsz", "arcp"}
_U = np.uint32
_F = np.float32

TINY = 1e-12
UNIT, LITERAL, RMS = 0, 1, 2


def loop(**options: Any) -> Callable[[Any], Any]:
    """Compile a function for the loops here and elsewhere."""
    return cached(njit, nogil=True, **options)


def cached(compiler: Callable[..., Any], *given: Any, **options: Any) -> Callable[[Any], Any]:
    """Compile a function and keep the code on disk; where no folder takes it, in memory only."""

    def decorate(function: Any) -> Any:
        try:
            return compiler(*given, cache=True, **options)(function)
        except RuntimeError:  # numba found no folder that it can write
            return compiler(*given, **options)(function)

    return decorate


@loop(fastmath=_MATH)
def _add_rows(drive, weight, rows, values):  # type: ignore[no-untyped-def]
    """Add ``values @ weight[rows]`` to ``drive``, several rows at a time to spare stores."""
    n = drive.size
    count = rows.size
    s = 0
    while s + 5 <= count:
        r0 = weight[rows[s]]
        r1 = weight[rows[s + 1]]
        r2 = weight[rows[s + 2]]
        r3 = weight[rows[s + 3]]
        r4 = weight[rows[s + 4]]
        v0, v1, v2, v3, v4 = values[s], values[s + 1], values[s + 2], values[s + 3], values[s + 4]
        for j in range(n):
            drive[j] += (v0 * r0[j] + v1 * r1[j]) + (v2 * r2[j] + v3 * r3[j]) + v4 * r4[j]
        s += 5
    while s < count:
        r0 = weight[rows[s]]
        v0 = values[s]
        for j in range(n):
            drive[j] += v0 * r0[j]
        s += 1


@loop()
def _lower_bound(maxima, blocks, k):  # type: ignore[no-untyped-def]
    """Bisect for a value that k of ``maxima[:blocks]`` reach, or a few more."""
    low = maxima[0]
    high = maxima[0]
    for b in range(blocks):
        low = maxima[b] if maxima[b] < low else low
        high = maxima[b] if maxima[b] > high else high
    for _ in range(24):
        middle = _F(0.5) * (low + high)
        reached = np.int32(0)
        for b in range(blocks):
            reached += np.int32(maxima[b] >= middle)
        if reached < k:
            high = middle
        else:
            low = middle
            if reached == k:
                break
    return low


@loop()
def _least(value, k):  # type: ignore[no-untyped-def]
    """Return the smallest of ``value[:k]`` and its place."""
    least = value[0]
    place = 0
    for i in range(1, k):
        smaller = value[i] < least
        least = value[i] if smaller else least
        place = i if smaller else place
    return least, place


@loop()
def _keep_largest(found, value, count, k):  # type: ignore[no-untyped-def]
    """Bring the k largest of ``count`` values, and their places in ``found``, to the front."""
    least, place = _least(value, k)
    for i in range(k, count):
        if value[i] > least:
            value[place] = value[i]
            found[place] = found[i]
            least, place = _least(value, k)


@loop()
def _scratch(width, blocks):  # type: ignore[no-untyped-def]
    """Return the working memory of `_select` for halves of ``width // 2`` drives."""
    places, values = np.empty(width // 2 + 1, _U), np.empty(width // 2 + 1, _F)
    return np.empty((2, blocks), _F), np.empty(blocks + 1, _U), places, values


@loop()
def _block_maxima(drive, blocks, maxima, other):  # type: ignore[no-untyped-def]
    """Fill ``maxima`` with the largest drive of each block.

    Block b holds the drives b, b+blocks, b+2·blocks, …, so these are element-wise maxima of
    contiguous runs, of which the last is shorter. They go back and forth between two arrays: into
    the same one, only what grows would be stored, which is slow.
    """
    size = np.uint64(drive.size)
    rest = size % blocks
    end = size - rest
    for b in range(rest):
        maxima[b] = drive[b] if drive[b] > drive[end + b] else drive[end + b]
    for b in range(rest, blocks):
        maxima[b] = drive[b]
    start = blocks
    while start < end:
        for b in range(blocks):
            other[b] = drive[start + b] if drive[start + b] > maxima[b] else maxima[b]
        start += blocks
        if start >= end:
            maxima[:] = other
            break
        for b in range(blocks):
            maxima[b] = drive[start + b] if drive[start + b] > other[b] else other[b]
        start += blocks


@loop()
def _select(drive, k, blocks, scratch):  # type: ignore[no-untyped-def]
    """Put the places and values of the k largest drives first in the last two of ``scratch``.

    What k maxima of blocks reach, at least k drives reach: the winners are among the drives that
    reach that bound, and those are in the few blocks whose maximum does.
    """
    (maxima, other), hit, found, value = scratch
    n = _U(drive.size)
    _block_maxima(drive, np.uint64(blocks), maxima, other)
    bound = _lower_bound(maxima, blocks, k)
    hits = _U(0)
    for b in range(_U(blocks)):
        hit[hits] = b
        hits += _U(maxima[b] >= bound)
    count = _U(0)
    for i in range(hits):
        j = hit[i]
        while j < n:
            found[count] = j
            count += _U(drive[j] >= bound)
            j += _U(blocks)
    if count < k:  # only when a drive is not a number: let it through, the loss will tell
        for i in range(k):
            found[i] = _U(i)
        count = _U(k)
    for i in range(count):
        value[i] = drive[found[i]]
    if count > k:
        _keep_largest(found, value, np.int64(count), k)


@loop()
def _activate(drive, relu, norm, neurons, active, latent):  # type: ignore[no-untyped-def]
    """Activate one half's winning drives; write latents and the same normalised.

    Return their energy and their sum.
    """
    energy = total = _F(0)
    for s in range(drive.size):
        z = drive[s]
        h = max(z, _F(0)) if relu else _F(1) / (_F(1) + np.exp(-z))
        active[s] = h
        energy += h * h
        total += h
    safe = max(energy, _F(TINY))
    factor = _F(1) / safe if norm == LITERAL else _F(1) / np.sqrt(safe)
    if norm == RMS:
        factor *= np.sqrt(_F(neurons))
    for s in range(drive.size):
        latent[s] = active[s] * factor
    return energy, total


@loop()
def _respond(drive, k, blocks, scratch, relu, norm, neurons, outputs, b, c):  # type: ignore[no-untyped-def]
    """Find and activate the k winners of each half of ``drive``; places are in the whole."""
    place, active, latent, energy, activity = outputs
    half = drive.size // 2
    activity[b, c] = _F(0)
    for side in range(2):
        _select(drive[side * half : (side + 1) * half], k, blocks, scratch)
        start, stop = side * k, (side + 1) * k
        for s in range(k):
            place[b, c, start + s] = scratch[2][s] + _U(side * half)
        energy[b, c, side], total = _activate(
            scratch[3][:k], relu, norm, neurons, active[b, c, start:stop], latent[b, c, start:stop]
        )
        activity[b, c] += total


@loop()
def _respond_to_none(outputs, b, c):  # type: ignore[no-untyped-def]
    """Write the response to no label."""
    place, active, latent, energy, activity = outputs
    place[b, c, :] = _U(0)
    active[b, c, :] = _F(0)
    latent[b, c, :] = _F(0)
    energy[b, c, :] = _F(0)
    activity[b, c] = _F(0)


@loop()
def scan(  # type: ignore[no-untyped-def]
    first, last, shared, label, below_place, below, weight, candidates, sizes, relu, norm, outputs
):
    """Fill ``outputs``: places, latents, normalised latents (batch, candidates, 2k), energy, sum.

    ``below_place`` and ``below`` are places and values of the previous layer's latents, ``sizes``
    are k and the blocks of a half.
    """
    width = shared.shape[1]
    k, blocks = sizes
    drive = np.empty(width, _F)
    scratch = _scratch(width, blocks)
    for b in range(first, last):
        for c in range(candidates.shape[1]):
            y = candidates[b, c]
            if y < 0:
                _respond_to_none(outputs, b, c)
                continue
            for j in range(width):
                drive[j] = shared[b, j] + label[y, j]
            _add_rows(drive, weight, below_place[b, c], below[b, c])
            _respond(drive, k, blocks, scratch, relu, norm, width // 2, outputs, b, c)


@loop()
def pack(first, last, weight, rows, columns, used, packed):  # type: ignore[no-untyped-def]
    """Copy each used label's own block of ``weight`` together: (labels, own rows, own columns)."""
    for y in range(first, last):
        if used[y]:
            for i in range(rows.shape[1]):
                source = weight[rows[y, i]]
                for j in range(columns.shape[1]):
                    packed[y, i, j] = source[columns[y, j]]


@loop()
def scan_gated(  # type: ignore[no-untyped-def]
    first,
    last,
    shared,
    label,
    below_place,
    below,
    packed,
    local,
    own,
    candidates,
    sizes,
    relu,
    norm,
    outputs,
):
    """Do as `scan` does, with each label looking only at its ``own`` neurons (labels, own).

    ``packed`` comes from `pack`; ``local`` (labels, previous width) gives the row of it that a
    neuron of the previous layer has. Candidates run outermost: a label's block stays in cache.
    """
    neurons = shared.shape[1] // 2
    k, blocks = sizes
    place = outputs[0]
    width, depth = own.shape[1], below_place.shape[2]
    drive = np.empty(width, _F)
    rows = np.empty(depth, _U)
    scratch = _scratch(width, blocks)
    for c in range(candidates.shape[1]):
        for b in range(first, last):
            y = candidates[b, c]
            if y < 0:
                _respond_to_none(outputs, b, c)
                continue
            for j in range(width):
                drive[j] = shared[b, own[y, j]] + label[y, own[y, j]]
            for s in range(depth):
                rows[s] = local[y, below_place[b, c, s]]
            _add_rows(drive, packed[y], rows, below[b, c])
            _respond(drive, k, blocks, scratch, relu, norm, neurons, outputs, b, c)
            for s in range(2 * k):
                place[b, c, s] = own[y, place[b, c, s]]


@loop()
def differentiate(  # type: ignore[no-untyped-def]
    first, last, candidates, place, active, relu, to_energy, to_activity, to_drive, to_shared
):
    """Turn gradients of energies and activity into those of the winners' drives.

    ``to_drive`` (batch, candidates, 2k) is filled; ``to_shared`` (batch, width) gathers it by
    neuron.
    """
    k = place.shape[2] // 2
    for b in range(first, last):
        to_shared[b, :] = _F(0)
        for c in range(place.shape[1]):
            if candidates[b, c] < 0:
                to_drive[b, c, :] = _F(0)
                continue
            for s in range(2 * k):
                h = active[b, c, s]
                slope = _F(h > 0) if relu else h * (_F(1) - h)
                side = 0 if s < k else 1
                g = (_F(2) * h * to_energy[b, c, side] + to_activity[b, c]) * slope
                to_drive[b, c, s] = g
                to_shared[b, place[b, c, s]] += g


@loop()
def _sorted_by(keys, first, last):  # type: ignore[no-untyped-def]
    """Sort the keys from ``first`` to ``last`` stably: their positions, where each key starts."""
    start = np.zeros(last - first + 1, np.int64)
    for i in range(keys.size):
        if first <= keys[i] < last:
            start[keys[i] - first + 1] += 1
    for r in range(last - first):
        start[r + 1] += start[r]
    fill = start.copy()
    order = np.empty(start[last - first], _U)
    for i in range(keys.size):
        if first <= keys[i] < last:
            order[fill[keys[i] - first]] = _U(i)
            fill[keys[i] - first] += 1
    return order, start


@loop(fastmath=_MATH)
def scatter_rows(first, last, keys, scale, place, grad, out):  # type: ignore[no-untyped-def]
    """Sum ``scale[i]·grad[i // depth]`` into the row ``keys[i]`` of ``out`` at ``place``.

    ``place`` and ``grad`` have a row for every ``depth`` keys. With the keys sorted, a row of
    ``out`` stays in the first-level cache while it is summed.
    """
    order, start = _sorted_by(keys, first, last)
    winners = place.shape[1]
    depth = _U(keys.size // max(place.shape[0], 1))
    for r in range(first, last):
        row = out[r]
        row[:] = _F(0)
        for p in range(start[r - first], start[r - first + 1]):
            i = order[p]
            e = i // depth
            factor = scale[i]
            for s in range(winners):
                row[place[e, s]] += factor * grad[e, s]


@loop(fastmath={"contract"})
def add_quadratic_gradient(first, last, grad, curvature, weight, anchor, offset):  # type: ignore[no-untyped-def]
    """Add ``curvature·(weight − anchor) + offset`` to ``grad``, all flat; an empty offset: none."""
    if offset.size:
        for i in range(np.uint64(first), np.uint64(last)):
            away = weight[i] - anchor[i]
            grad[i] = (grad[i] + curvature[i] * away) + offset[i]
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            grad[i] += curvature[i] * (weight[i] - anchor[i])
