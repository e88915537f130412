"""The loops of `sffa.kernels.compiled` as C functions, for `sffa.kernels.openmp`.

A task finds what it needs in an array of integers: a counter of the chunks taken, how many there
are, the number of rows; its own numbers; then four for each tensor, its address and its shape.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, cfunc, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from sffa.kernels import compiled
from sffa.kernels.lanes import float_of
from sffa.kernels.loops import cached, loop
from sffa.kernels.openmp import NUMBERS

_F = np.float32
_POINTER: Any = types.CPointer(types.int64)  # type: ignore[no-untyped-call]


class CompiledTask:
    """A loop that is compiled, or read from the cache, when it is first run."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    @cached_property
    def address(self) -> int:
        """Where its code is."""
        return int(cached(cfunc, types.void(_POINTER))(self._function).address)


def _typed_next_chunk(typing: Any, data: Any) -> Any:
    """Take the next chunk: count it, also while others do."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.atomic_rmw("add", given[0], ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(_POINTER), generate


def _typed_pointer(typing: Any, address: Any) -> Any:
    """Turn an address into a pointer."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.inttoptr(given[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_next_chunk: Any = intrinsic(_typed_next_chunk)
_pointer: Any = intrinsic(_typed_pointer)


@loop()
def _rows(data):  # type: ignore[no-untyped-def]
    """Return the next rows to go through; none are left if both are equal."""
    chunk = _next_chunk(data)
    chunks, size = data[1], data[2]
    if chunk >= chunks:
        return 0, 0
    return chunk * size // chunks, (chunk + 1) * size // chunks


@loop()
def _at(data, i):  # type: ignore[no-untyped-def]
    """Return the pointer and the shape of a tensor."""
    place = 3 + NUMBERS + 4 * i
    return _pointer(data[place]), data[place + 1], data[place + 2], data[place + 3]


@loop()
def _vector(data, i):  # type: ignore[no-untyped-def]
    pointer, size, _, _ = _at(data, i)
    return carray(pointer, (size,), np.float32)


@loop()
def _flat(data, i):  # type: ignore[no-untyped-def]
    pointer, rows, columns, depth = _at(data, i)
    return carray(pointer, (rows * columns * depth,), np.float32)


@loop()
def _matrix(data, i):  # type: ignore[no-untyped-def]
    pointer, rows, columns, _ = _at(data, i)
    return carray(pointer, (rows, columns), np.float32)


@loop()
def _cube(data, i):  # type: ignore[no-untyped-def]
    pointer, rows, columns, depth = _at(data, i)
    return carray(pointer, (rows, columns, depth), np.float32)


@loop()
def _signed_vector(data, i):  # type: ignore[no-untyped-def]
    pointer, size, _, _ = _at(data, i)
    return carray(pointer, (size,), np.int32)


@loop()
def _signed_matrix(data, i):  # type: ignore[no-untyped-def]
    pointer, rows, columns, _ = _at(data, i)
    return carray(pointer, (rows, columns), np.int32)


@loop()
def _place_matrix(data, i):  # type: ignore[no-untyped-def]
    pointer, rows, columns, _ = _at(data, i)
    return carray(pointer, (rows, columns), np.uint32)


@loop()
def _place_cube(data, i):  # type: ignore[no-untyped-def]
    pointer, rows, columns, depth = _at(data, i)
    return carray(pointer, (rows, columns, depth), np.uint32)


def _scan(data):  # type: ignore[no-untyped-def]
    outputs = _place_cube(data, 0), _cube(data, 1), _cube(data, 2), _cube(data, 3), _matrix(data, 4)
    shared, label, candidates = _matrix(data, 5), _matrix(data, 6), _signed_matrix(data, 7)
    below_place, below, weight = _place_cube(data, 8), _cube(data, 9), _matrix(data, 10)
    sizes, relu, norm = (data[3], data[4]), data[5], data[6]
    first, last = _rows(data)
    while first < last:
        compiled.scan(
            first,
            last,
            shared,
            label,
            below_place,
            below,
            weight,
            candidates,
            sizes,
            relu,
            norm,
            outputs,
        )
        first, last = _rows(data)


def _scan_gated(data):  # type: ignore[no-untyped-def]
    outputs = _place_cube(data, 0), _cube(data, 1), _cube(data, 2), _cube(data, 3), _matrix(data, 4)
    shared, label, candidates = _matrix(data, 5), _matrix(data, 6), _signed_matrix(data, 7)
    below_place, below, packed = _place_cube(data, 8), _cube(data, 9), _cube(data, 10)
    local, own = _place_matrix(data, 11), _place_matrix(data, 12)
    sizes, relu, norm = (data[3], data[4]), data[5], data[6]
    first, last = _rows(data)
    while first < last:
        compiled.scan_gated(
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
        )
        first, last = _rows(data)


def _pack(data):  # type: ignore[no-untyped-def]
    weight, rows, columns = _matrix(data, 0), _place_matrix(data, 1), _place_matrix(data, 2)
    used, packed = _signed_vector(data, 3), _cube(data, 4)
    first, last = _rows(data)
    while first < last:
        compiled.pack(first, last, weight, rows, columns, used, packed)
        first, last = _rows(data)


def _differentiate(data):  # type: ignore[no-untyped-def]
    candidates, place, active = _signed_matrix(data, 0), _place_cube(data, 1), _cube(data, 2)
    to_energy, to_activity = _cube(data, 3), _matrix(data, 4)
    to_drive, to_shared = _cube(data, 5), _matrix(data, 6)
    first, last = _rows(data)
    while first < last:
        compiled.differentiate(
            first,
            last,
            candidates,
            place,
            active,
            data[3],
            to_energy,
            to_activity,
            to_drive,
            to_shared,
        )
        first, last = _rows(data)


def _scatter(data):  # type: ignore[no-untyped-def]
    keys, scale = _signed_vector(data, 0), _vector(data, 1)
    place, grad, out = _place_matrix(data, 2), _matrix(data, 3), _matrix(data, 4)
    first, last = _rows(data)
    while first < last:
        compiled.scatter_rows(first, last, keys, scale, place, grad, out)
        first, last = _rows(data)


def _label_part(data):  # type: ignore[no-untyped-def]
    codes, code, bias, label = (
        _matrix(data, 0),
        _matrix(data, 1),
        _vector(data, 2),
        _matrix(data, 3),
    )
    first, last = _rows(data)
    while first < last:
        compiled.label_part(first, last, codes, code, bias, label)
        first, last = _rows(data)


def _label_gradients(data):  # type: ignore[no-untyped-def]
    codes, to_label = _matrix(data, 0), _matrix(data, 1)
    to_code, to_bias = _matrix(data, 2), _vector(data, 3)
    first, last = _rows(data)
    while first < last:
        compiled.label_gradients(first, last, codes, to_label, to_code, to_bias)
        first, last = _rows(data)


@loop()
def _rates(data, step):  # type: ignore[no-untyped-def]
    """Return the rates of `compiled.adam` at a step from its size, both decays and ε."""
    lr, beta1, beta2 = float_of(data[4]), float_of(data[5]), float_of(data[6])
    size, correction = lr / (1 - beta1**step), 1 / np.sqrt(1 - beta2**step)
    return _F(size), _F(1 - beta1), _F(1 - beta2), _F(correction), _F(float_of(data[7]))


def _adam(data):  # type: ignore[no-untyped-def]
    """Rows are the weights of all parameters together, each with five tensors."""
    first, last = _rows(data)
    while first < last:
        start = 0
        for i in range(0, 5 * data[3], 5):
            weight, grad = _flat(data, i), _flat(data, i + 1)
            mean, square, step = _flat(data, i + 2), _flat(data, i + 3), _flat(data, i + 4)
            begin, end = max(first - start, 0), min(last - start, weight.size)
            if begin < end:
                rates = _rates(data, np.float64(step[0]))
                compiled.adam(begin, end, weight, grad, mean, square, rates)
            start += weight.size
        first, last = _rows(data)


def _add_quadratic_gradient(data):  # type: ignore[no-untyped-def]
    grad, curvature, weight = _vector(data, 0), _vector(data, 1), _vector(data, 2)
    anchor, offset = _vector(data, 3), _vector(data, 4)
    first, last = _rows(data)
    while first < last:
        compiled.add_quadratic_gradient(first, last, grad, curvature, weight, anchor, offset)
        first, last = _rows(data)


scan = CompiledTask(_scan)
scan_gated = CompiledTask(_scan_gated)
pack = CompiledTask(_pack)
differentiate = CompiledTask(_differentiate)
scatter = CompiledTask(_scatter)
label_part = CompiledTask(_label_part)
label_gradients = CompiledTask(_label_gradients)
adam = CompiledTask(_adam)
add_quadratic_gradient = CompiledTask(_add_quadratic_gradient)
