"""Products with latents of which few are awake: only those are gone through.

As FFA learns its neurons fall silent, each for other inputs: few columns of the latents are empty,
and yet most numbers are zero. Columns of the weights are taken two runs at a time, as so many of
all rows stay in the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sffa.kernels.lanes import LANES, weighted_sum
from sffa.kernels.loops import loop
from sffa.kernels.openmp import fits

_WORTH = 0.3  # share of numbers that are not zero up to which this is faster than a product
_LEAST = 2**16  # latents that are worth looking at


class SparseRows(NamedTuple):
    """The numbers of a matrix that are not zero, row by row; row r from ``start[r]`` on.

    ``place`` are their columns.
    """

    start: np.ndarray
    place: np.ndarray
    value: np.ndarray


def sparse_rows(matrix: Tensor) -> SparseRows | None:
    """Return what is not zero in a matrix; None where its product is faster as it is.

    >>> latents = torch.zeros(256, 400)
    >>> latents[:, 7] = 1.0
    >>> rows = sparse_rows(latents)
    >>> rows.place[:3].tolist(), sparse_rows(latents + 1) is None
    ([7, 7, 7], True)
    """
    if matrix.numel() < _LEAST or matrix.dtype != torch.float32 or not fits(matrix):
        return None
    count = int(matrix.count_nonzero())
    if count > _WORTH * matrix.numel():
        return None
    start = np.empty(len(matrix) + 1, np.int64)
    # One more, as every number is written before it is known whether it stays.
    found = SparseRows(start, np.empty(count + 1, np.uint32), np.empty(count + 1, np.float32))
    _compress(matrix.detach().numpy(), *found)
    return found


def product(rows: SparseRows, weight: Tensor) -> Tensor:
    """Return ``rows @ weight``.

    >>> rows = sparse_rows(torch.eye(256, 400))
    >>> bool((product(rows, torch.ones(400, 3)) == 1).all())
    True
    """
    weight = weight.detach().contiguous()
    width = weight.shape[1]
    out = torch.empty(len(rows.start) - 1, width)
    _multiply(*rows, weight.view(-1).numpy(), width, out.view(-1).numpy())
    return out


def transposed(rows: SparseRows, width: int) -> SparseRows:
    """Return the same numbers column by column, of a matrix that is so wide.

    >>> columns = transposed(sparse_rows(torch.eye(256, 400)), 400)
    >>> product(columns, torch.ones(256, 3)).sum(dim=0)
    tensor([256., 256., 256.])
    """
    found = SparseRows(
        np.zeros(width + 1, np.int64), np.empty_like(rows.place), np.empty_like(rows.value)
    )
    _transpose(*rows, *found)
    return found


@loop()
def _compress(matrix, start, place, value):  # type: ignore[no-untyped-def]
    found = start[0] = 0
    for r in range(len(matrix)):
        for c in range(matrix.shape[1]):
            number = matrix[r, c]
            place[found], value[found] = c, number
            found += number != 0
        start[r + 1] = found


@loop()
def _multiply(start, place, value, weight, width, out):  # type: ignore[no-untyped-def]
    done = 0
    while done < width:
        if width >= 2 * LANES:  # the last runs may begin among those before: they come out alike
            column = min(done, width - 2 * LANES)
            for r in range(start.size - 1):
                weighted_sum(
                    *(value, place, start[r], start[r + 1]),
                    *(weight, width, column, out, r * width + column),
                )
            done = column + 2 * LANES
            continue
        for r in range(start.size - 1):
            for c in range(width):
                out[r * width + c] = 0
            for i in range(start[r], start[r + 1]):
                for c in range(width):
                    out[r * width + c] += value[i] * weight[place[i] * width + c]
        done = width


@loop()
def _transpose(start, place, value, begin, row, number):  # type: ignore[no-untyped-def]
    """Fill the second matrix; ``begin`` is nothing at first."""
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
