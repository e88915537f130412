"""Products with latents of which few are awake: only those are gone through.

As FFA learns, its neurons fall silent, each for other inputs: few columns of the latents are empty,
and yet most numbers are zero. The weights are taken 128 columns at a time, because that much of
every row fits in the processor's cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.kernels import team
from sffa.kernels.lanes import LANES, weighted_sum
from sffa.kernels.loops import loop
from sffa.kernels.openmp import fits

MOST_AWAKE = 0.3  # share up to which the loop is faster than torch's product on one thread; what
# is gained is in results/awake.json
LEAST = 2**16  # numbers that are worth a look


class SparseRows(NamedTuple):
    """The numbers of a matrix, ``width`` wide, that are not zero, row by row.

    Those of row r begin at ``start[r]``; ``place`` are their columns.
    """

    start: NDArray[np.int64]
    place: NDArray[np.uint32]
    value: NDArray[np.float32]
    width: int


def sparse_rows(matrix: Tensor) -> SparseRows | None:
    """Return what is not zero in a matrix; None where its product is faster as it is.

    >>> latents = torch.zeros(256, 400)
    >>> latents[:, 7] = 1.0
    >>> rows = sparse_rows(latents)
    >>> rows.place[:3].tolist(), sparse_rows(latents + 1) is None
    ([7, 7, 7], True)
    """
    if matrix.numel() < LEAST or matrix.dtype != torch.float32 or not fits(matrix):
        return None
    numbers = matrix.detach().numpy()
    start = np.empty(len(matrix) + 1, np.int64)
    threads = 1 if team.limited() else torch.get_num_threads()
    if not _count(numbers, start, MOST_AWAKE / threads * matrix.numel()):
        return None
    room = int(start[-1]) + 1  # a number is written before it is known whether it stays
    place, value = np.empty(room, np.uint32), np.empty(room, np.float32)
    _compress(numbers, place, value)
    return SparseRows(start, place, value, matrix.shape[1])


def product(rows: SparseRows, weight: Tensor) -> Tensor:
    """Return ``rows @ weight``.

    >>> rows = sparse_rows(torch.eye(256, 400))
    >>> bool((product(rows, torch.ones(400, 3)) == 1).all())
    True
    """
    weight = weight.detach().contiguous()
    if weight.dtype != torch.float32 or not fits(weight) or len(weight) != rows.width:
        raise ValueError(
            f"expected {rows.width} rows of float32 on the CPU, got {len(weight)} of {weight.dtype}"
        )
    width = weight.shape[1]
    out = weight.new_empty(len(rows.start) - 1, width)
    flat = weight.view(-1).numpy(), width, out.view(-1).numpy()
    _multiply(rows.start, rows.place, rows.value, *flat)
    return out


def transposed(rows: SparseRows) -> SparseRows:
    """Return the same numbers column by column.

    >>> columns = transposed(sparse_rows(torch.eye(256, 400)))
    >>> product(columns, torch.ones(256, 3)).sum(dim=0)
    tensor([256., 256., 256.])
    """
    start = np.zeros(rows.width + 1, np.int64)
    place, value = np.empty_like(rows.place), np.empty_like(rows.value)
    _transpose(rows.start, rows.place, rows.value, start, place, value)
    return SparseRows(start, place, value, len(rows.start) - 1)


@loop()
def _count(matrix: Any, start: Any, most: float) -> bool:
    """Fill ``start`` (rows + 1,); return whether there are no more than ``most`` numbers."""
    start[0] = 0
    for r in range(len(matrix)):
        found = 0
        for c in range(matrix.shape[1]):
            found += matrix[r, c] != 0
        start[r + 1] = start[r] + found
        if start[r + 1] > most:
            return False
    return True


@loop()
def _compress(matrix: Any, place: Any, value: Any) -> None:
    found = 0
    for r in range(len(matrix)):
        for c in range(matrix.shape[1]):
            number = matrix[r, c]
            place[found], value[found] = c, number
            found += number != 0


@loop()
def _multiply(start: Any, place: Any, value: Any, weight: Any, width: int, out: Any) -> None:
    if width < 2 * LANES:
        out[:] = 0
        for r in range(start.size - 1):
            for i in range(start[r], start[r + 1]):
                for c in range(width):
                    out[r * width + c] += value[i] * weight[np.int64(place[i]) * width + c]
        return
    for first in range(0, width, 2 * LANES):
        column = min(first, width - 2 * LANES)  # the last columns may be computed twice
        for r in range(start.size - 1):
            weighted_sum(
                *(value, place, start[r], start[r + 1]),
                *(weight, width, column, out, r * width + column),
            )


@loop()
def _transpose(start: Any, place: Any, value: Any, begin: Any, row: Any, number: Any) -> None:
    """Fill the second matrix; ``begin`` is zero at first."""
    for i in range(start[-1]):
        begin[place[i] + 1] += 1
    for c in range(begin.size - 1):
        begin[c + 1] += begin[c]
    free = begin.copy()
    for r in range(start.size - 1):
        for i in range(start[r], start[r + 1]):
            where = free[place[i]]
            row[where], number[where] = r, value[i]
            free[place[i]] += 1
