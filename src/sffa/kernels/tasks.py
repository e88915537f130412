"""The loops of `sffa.kernels.compiled` as C functions, for `sffa.kernels.openmp`.

A task finds what it needs in an array of integers: see `sffa.kernels.task_data`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import cfunc, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from sffa.kernels import compiled
from sffa.kernels.lanes import float_of
from sffa.kernels.loops import MATH, cached, inlined, loop
from sffa.kernels.task_data import DIMENSIONS, FIRST_TENSOR, PER_TENSOR

_F = np.float32
_LONG = ir.IntType(64)
_POINTER: Any = types.CPointer(types.int64)  # type: ignore[no-untyped-call]


def _constant(value: int) -> Any:
    return ir.Constant(_LONG, value)


class CompiledTask:
    """A loop that is compiled, or read from the cache, when it is first run.

    ``math`` is what may be done to its sums.
    """

    def __init__(self, function: Callable[..., None], math: Collection[str] = ()) -> None:
        self._function, self._math = function, set(math)

    @cached_property
    def address(self) -> int:
        """Where its code is."""
        return int(
            cached(cfunc, types.void(_POINTER), error_model="numpy", fastmath=self._math)(
                self._function
            ).address
        )


def _typed_next_chunk(typing: Any, data: Any) -> Any:
    """Take the next chunk: count it, also while others do."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.atomic_rmw("add", given[0], _constant(1), "monotonic")

    return types.int64(_POINTER), generate


_next_chunk: Any = intrinsic(_typed_next_chunk)


@loop()
def _rows(data):  # type: ignore[no-untyped-def]
    """Return the next rows to go through; none are left if both are equal."""
    chunk = _next_chunk(data)
    chunks, size = data[1], data[2]
    if chunk >= chunks:
        return 0, 0
    return chunk * size // chunks, (chunk + 1) * size // chunks


def _tensor(kind: Any) -> Any:
    """Return the function that gives a tensor, by its number, as an array of a kind."""

    def typed(typing: Any, data: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            def read(i: int) -> Any:
                place = builder.add(
                    builder.mul(given[1], _constant(PER_TENSOR)), _constant(FIRST_TENSOR + i)
                )
                return builder.load(builder.gep(given[0], [place]))

            array = context.make_array(kind)(context, builder)
            shape = [read(1 + i) for i in range(DIMENSIONS)]
            if kind.ndim == 1:  # any tensor, flat
                shape = [builder.mul(shape[0], builder.mul(shape[1], shape[2]))]
            shape = shape[: kind.ndim]
            strides = [_constant(4)]
            for size in reversed(shape[1:]):
                strides.insert(0, builder.mul(strides[0], size))
            pointer = builder.inttoptr(read(0), array.data.type)
            populate_array(array, pointer, shape, strides, _constant(4), None)  # type: ignore[no-untyped-call]
            return array._getvalue()

        return kind(_POINTER, types.intp), generate

    return intrinsic(typed)


_vector, _matrix, _cube = (_tensor(types.Array(types.float32, n, "C")) for n in (1, 2, 3))
_signed_vector, _signed_matrix = (_tensor(types.Array(types.int32, n, "C")) for n in (1, 2))
_place_matrix, _place_cube = (_tensor(types.Array(types.uint32, n, "C")) for n in (2, 3))


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


@inlined
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
            weight, grad = _vector(data, i), _vector(data, i + 1)
            mean, square, step = _vector(data, i + 2), _vector(data, i + 3), _vector(data, i + 4)
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
scatter = CompiledTask(_scatter, MATH)
label_part = CompiledTask(_label_part, MATH)
label_gradients = CompiledTask(_label_gradients, MATH)
adam = CompiledTask(_adam, {"contract"})
add_quadratic_gradient = CompiledTask(_add_quadratic_gradient, {"contract"})
