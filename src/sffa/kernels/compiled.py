"""Compiled loops: gather weights, choose winners, scatter gradients; change weights.

A loop goes through the rows from ``first`` to ``last``, so that `sffa.kernels.openmp` can run parts
of it side by side; each part writes rows of its own and sums in a fixed order. numba's own parallel
loops would take several times as long to compile and to load. Indices are unsigned: a signed
index makes numba test each one for Python's counting from the end.
"""

from __future__ import annotations

import numpy as np

from sffa.kernels import selection
from sffa.kernels.loops import MATH, inlined, loop

_U = np.uint32
_F = np.float32


@loop(fastmath=MATH)
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


@inlined
def _respond_to_none(outputs, b, c):  # type: ignore[no-untyped-def]
    """Write the response to no label."""
    place, active, latent, energy, activity = outputs
    for s in range(place.shape[2]):
        place[b, c, s] = _U(0)
        active[b, c, s] = latent[b, c, s] = _F(0)
    energy[b, c, 0] = energy[b, c, 1] = activity[b, c] = _F(0)


@inlined
def scan(  # type: ignore[no-untyped-def]
    first, last, shared, label, below_place, below, weight, candidates, sizes, relu, norm, outputs
):
    """Fill ``outputs``: places, latents, normalised latents (batch, candidates, 2k), energy, sum.

    ``below_place`` and ``below`` are places and values of the previous layer's latents, ``sizes``
    are k and the blocks of a half.
    """
    width = shared.shape[1]
    k, blocks = sizes
    drive, scratch = selection.room(width, blocks)
    for b in range(first, last):
        for c in range(candidates.shape[1]):
            y = candidates[b, c]
            if y < 0:
                _respond_to_none(outputs, b, c)
                continue
            for j in range(width):
                drive[j] = shared[b, j] + label[y, j]
            _add_rows(drive[:width], weight, below_place[b, c], below[b, c])
            half = width // 2
            selection.respond(drive, half, k, scratch, relu, norm, half, outputs, b, c)


@inlined
def pack(first, last, weight, rows, columns, used, packed):  # type: ignore[no-untyped-def]
    """Copy each used label's own block of ``weight`` together: (labels, own rows, own columns)."""
    for y in range(first, last):
        if used[y]:
            for i in range(rows.shape[1]):
                source = weight[rows[y, i]]
                for j in range(columns.shape[1]):
                    packed[y, i, j] = source[columns[y, j]]


@inlined
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
    drive, scratch = selection.room(width, blocks)
    rows = np.empty(depth, _U)
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
            _add_rows(drive[:width], packed[y], rows, below[b, c])
            half = width // 2
            selection.respond(drive, half, k, scratch, relu, norm, neurons, outputs, b, c)
            for s in range(2 * k):
                place[b, c, s] = own[y, place[b, c, s]]


@inlined
def differentiate(  # type: ignore[no-untyped-def]
    first, last, candidates, place, active, relu, to_energy, to_activity, to_drive, to_shared
):
    """Turn gradients of energies and activity into those of the winners' drives.

    ``to_drive`` (batch, candidates, 2k) is filled; ``to_shared`` (batch, width) gathers it by
    neuron.
    """
    k = place.shape[2] // 2
    for b in range(first, last):
        for j in range(to_shared.shape[1]):
            to_shared[b, j] = _F(0)
        for c in range(place.shape[1]):
            if candidates[b, c] < 0:
                for s in range(2 * k):
                    to_drive[b, c, s] = _F(0)
                continue
            for s in range(2 * k):
                h = active[b, c, s]
                slope = _F(h > 0) if relu else h * (_F(1) - h)
                side = 0 if s < k else 1
                g = (_F(2) * h * to_energy[b, c, side] + to_activity[b, c]) * slope
                to_drive[b, c, s] = g
                to_shared[b, place[b, c, s]] += g


@inlined
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


@inlined
def scatter_rows(first, last, keys, scale, place, grad, out):  # type: ignore[no-untyped-def]
    """Sum ``scale[i]·grad[i // depth]`` into the row ``keys[i]`` of ``out`` at ``place``.

    ``place`` and ``grad`` have a row for every ``depth`` keys. With the keys sorted, a row of
    ``out`` stays in the first-level cache while it is summed.
    """
    order, start = _sorted_by(keys, first, last)
    depth = _U(keys.size // max(place.shape[0], 1))
    for r in range(first, last):
        row = out[r]
        for j in range(row.size):
            row[j] = _F(0)
        for p in range(np.uint64(start[r - first]), np.uint64(start[r - first + 1])):
            i = order[p]
            factor, places, grads = scale[i], place[i // depth], grad[i // depth]
            for s in range(np.uint64(places.size)):
                row[places[s]] += factor * grads[s]


@inlined
def add_quadratic_gradient(first, last, grad, curvature, weight, anchor, offset):  # type: ignore[no-untyped-def]
    """Add ``curvature·(weight − anchor) + offset`` to ``grad``, all flat; an empty offset: none."""
    if offset.size:
        for i in range(np.uint64(first), np.uint64(last)):
            away = weight[i] - anchor[i]
            grad[i] = (grad[i] + curvature[i] * away) + offset[i]
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            grad[i] += curvature[i] * (weight[i] - anchor[i])


@inlined
def label_part(first, last, codes, code, bias, label):  # type: ignore[no-untyped-def]
    """Fill ``label`` (labels, width) with ``bias + codes @ code``; most of a code is zero."""
    for y in range(first, last):
        row = label[y]
        for j in range(row.size):
            row[j] = bias[j]
        for i in range(_U(codes.shape[1])):
            if codes[y, i] != 0:
                for j in range(row.size):
                    row[j] += codes[y, i] * code[i, j]


@inlined
def label_gradients(first, last, codes, to_label, to_code, to_bias):  # type: ignore[no-untyped-def]
    """Fill ``to_code`` (size of a code, width) and ``to_bias``, a row more, from ``to_label``."""
    for i in range(first, last):
        row = to_code[i] if i < to_code.shape[0] else to_bias
        for j in range(row.size):
            row[j] = _F(0)
        for y in range(_U(to_label.shape[0])):
            bit = codes[y, i] if i < to_code.shape[0] else _F(1)
            if bit != 0:
                for j in range(row.size):
                    row[j] += bit * to_label[y, j]


@inlined
def adam(first, last, weight, grad, mean, square, rates):  # type: ignore[no-untyped-def]
    """Take a step of Adam on flat weights.

    ``rates`` are the size of the step, what a gradient adds to mean and mean square, what corrects
    the deviation at first, and ε.
    """
    size, to_mean, to_square, correction, epsilon = rates
    for i in range(np.uint64(first), np.uint64(last)):
        g = grad[i]
        m = mean[i] + (g - mean[i]) * to_mean
        v = square[i] + (g * g - square[i]) * to_square
        mean[i], square[i] = m, v
        weight[i] -= size * m / (np.sqrt(v) * correction + epsilon)
