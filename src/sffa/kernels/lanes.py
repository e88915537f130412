"""64 numbers at a time: what numba does not make of a loop, as vectors of the processor at hand.

A run of `LANES` numbers is one vector here, which LLVM cuts into those that the processor has. An
array must have a run more than what is asked for, as whole runs are read; what lies beyond counts
for nothing. `weighted_sum` reads and writes two whole runs of each row, which must be there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 64

_INT, _LONG, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
_RUN, _NUMBERS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)


def _at(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """Return the pointer to a run of an array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _RUN.as_pointer())


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    """Return a vector of one value."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(_NUMBERS, [0] * LANES))


def _before(builder: Any, count: Any) -> Any:
    """Return which lanes are among the first ``count``."""
    zero, most = ir.Constant(_LONG, 0), ir.Constant(_LONG, LANES)
    count = builder.select(builder.icmp_signed(">", count, zero), count, zero)
    count = builder.select(builder.icmp_signed("<", count, most), count, most)
    numbers = ir.Constant(_NUMBERS, list(range(LANES)))
    return builder.icmp_signed("<", numbers, _spread(builder, builder.trunc(count, _INT), _NUMBERS))


def _kept(builder: Any, value: Any) -> Any:
    """Return a variable with a first value."""
    return cgutils.alloca_once_value(builder, value)  # type: ignore[no-untyped-call]


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


def _smaller(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", one, other), one, other)


def _folded(builder: Any, run: Any, choose: Callable[..., Any]) -> Any:
    """Return the one of a run's numbers that is left when two are compared again and again."""
    size = LANES // 2
    while size:
        nothing = ir.Constant(run.type, ir.Undefined)
        kind = ir.VectorType(_INT, size)
        halves = (
            builder.shuffle_vector(run, nothing, ir.Constant(kind, list(range(i, i + size))))
            for i in (0, size)
        )
        run = choose(builder, *halves)
        size //= 2
    return builder.extract_element(run, ir.Constant(_INT, 0))


def _typed_maxima(
    typing: Any, array: Any, start: Any, size: Any, step: Any, out: Any, place: Any
) -> Any:
    """Fill a run of ``out`` with the largest of those at ``start``, ``start + step``, …, by lanes.

    They end after ``size`` numbers; a lane without any has -inf.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, start, size, step, out, place = given
        lowest = _spread(builder, ir.Constant(_FLOAT, float("-inf")), _RUN)
        largest = _kept(builder, lowest)
        first, end = ir.Constant(_LONG, 0), builder.sub(size, ir.Constant(_LONG, LANES - 1))
        done = _kept(builder, first)

        def merge(number: Any, inside: Any) -> None:
            where = _at(context, builder, signature.args[0], array, builder.add(start, number))
            run = builder.load(where, align=4)
            run = run if inside is None else builder.select(inside, run, lowest)
            builder.store(_larger(builder, run, builder.load(largest)), largest)

        with cgutils.for_range_slice(builder, first, end, step) as (number, _):
            merge(number, None)
            builder.store(builder.add(number, step), done)
        last = builder.load(done)
        merge(last, _before(builder, builder.sub(size, last)))
        target = _at(context, builder, signature.args[4], out, place)
        builder.store(builder.load(largest), target, align=4)
        return context.get_dummy_value()

    sizes = types.intp, types.intp, types.intp
    return types.void(array, *sizes, out, types.intp), generate


def _typed_reached(typing: Any, array: Any, place: Any, bound: Any) -> Any:
    """Return which numbers of a run reach a bound, as bits."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        run = builder.load(_at(context, builder, signature.args[0], *given[:2]), align=4)
        reached = builder.fcmp_ordered(">=", run, _spread(builder, given[2], _RUN))
        return builder.bitcast(reached, _LONG)

    return types.uint64(array, types.intp, types.float32), generate


def _typed_extremes(typing: Any, array: Any, place: Any, count: Any) -> Any:
    """Return the smallest and the largest of the first ``count`` numbers of a run."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        run = builder.load(_at(context, builder, signature.args[0], *given[:2]), align=4)
        inside = _before(builder, given[2])
        ends = []
        for other, choose in (("inf", _smaller), ("-inf", _larger)):
            rest = _spread(builder, ir.Constant(_FLOAT, float(other)), _RUN)
            ends.append(_folded(builder, builder.select(inside, run, rest), choose))
        return context.make_tuple(builder, signature.return_type, ends)

    both: Any = types.UniTuple(types.float32, 2)  # type: ignore[no-untyped-call]
    return both(array, types.intp, types.intp), generate


def _typed_weighted_sum(
    typing: Any,
    weights: Any,
    rows: Any,
    first: Any,
    end: Any,
    array: Any,
    width: Any,
    column: Any,
    out: Any,
    place: Any,
) -> Any:
    """Set two runs of ``out``, at ``place``, to a weighted sum of those at ``column`` of some rows.

    ``weights`` and ``rows`` (float32, uint32) are read from ``first`` up to ``end``; the matrix is
    flat, ``width`` wide.
    """
    if {weights.dtype, array.dtype, out.dtype} != {types.float32} or rows.dtype != types.uint32:
        return None  # a run would be read as what it is not

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        weights, rows, first, end, array, width, column, out, place = given
        numbers = context.make_array(signature.args[0])(context, builder, weights).data
        places = context.make_array(signature.args[1])(context, builder, rows).data
        nothing = _spread(builder, ir.Constant(_FLOAT, 0.0), _RUN)
        sums = [_kept(builder, nothing) for _ in range(2)]  # one waits while the other is added to
        with cgutils.for_range_slice(builder, first, end, ir.Constant(_LONG, 1)) as (i, _):
            number = builder.load(builder.gep(numbers, [i]))
            row = builder.zext(builder.load(builder.gep(places, [i])), _LONG)
            start = builder.add(builder.mul(row, width), column)
            for half, total in enumerate(sums):
                begin = builder.add(start, ir.Constant(_LONG, half * LANES))
                where = _at(context, builder, signature.args[4], array, begin)
                run = builder.load(where, align=4)
                product = builder.fmul(run, _spread(builder, number, _RUN), flags=("contract",))
                builder.store(
                    builder.fadd(builder.load(total), product, flags=("contract",)), total
                )
        for half, total in enumerate(sums):
            begin = builder.add(place, ir.Constant(_LONG, half * LANES))
            target = _at(context, builder, signature.args[7], out, begin)
            builder.store(builder.load(total), target, align=4)
        return context.get_dummy_value()

    sizes = types.intp, types.intp
    return types.void(weights, rows, *sizes, array, *sizes, out, types.intp), generate


def _typed_count(typing: Any, bits: Any) -> Any:
    """Return how many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ctpop(given[0])

    return types.int64(types.uint64), generate


def _typed_first(typing: Any, bits: Any) -> Any:
    """Return the place of the first bit that is set; one must be."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.cttz(given[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


def _typed_float_of(typing: Any, bits: Any) -> Any:
    """Return the number that the bits of an integer stand for, as many as it has."""
    kind = types.float32 if bits.bitwidth == 32 else types.float64

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.bitcast(given[0], _FLOAT if kind == types.float32 else ir.DoubleType())

    return kind(bits), generate


maxima: Any = intrinsic(_typed_maxima)
reached: Any = intrinsic(_typed_reached)
extremes: Any = intrinsic(_typed_extremes)
count: Any = intrinsic(_typed_count)
first: Any = intrinsic(_typed_first)
float_of: Any = intrinsic(_typed_float_of)
weighted_sum: Any = intrinsic(_typed_weighted_sum)
