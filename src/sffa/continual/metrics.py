"""Metrics of a continual run, all from the accuracy matrix."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def summary(
    matrix: Matrix,
    chances: Sequence[float],
    learned: Sequence[int | None] | None = None,
    seen: Sequence[int] | None = None,
) -> dict[str, float]:
    """Return Acc, Fgt, FwT and BWT, in percent as the matrix.

    Row j of ``matrix`` (rows, parts) is the accuracy on every tested part after training on
    ``seen[j]`` experiences, row 0 that before training; ``learned[i]`` experiences are done once
    part i is learned, and ``chances`` is what guessing gives then. Unless given, there is a row
    after every experience, and experience i is part i. Every part counts alike, whatever its number
    of examples; parts not learned yet do not count. With one part there is nothing to forget or
    transfer: these are 0.

    >>> matrix = np.array([[0, 0], [90, 0], [60, 80]], float)
    >>> summary(matrix, [50, 25])
    {'acc': 70.0, 'fgt': 30.0, 'fwt': -25.0, 'bwt': -30.0}
    """
    at, when = _places(matrix, learned, seen)
    last, end = matrix[-1], at[-1]
    done = [i for i, number in enumerate(when) if number is not None and number <= end]
    rows = {i: bisect_left(at, when[i] or 0) for i in done}
    earlier = [i for i in done if rows[i] < len(matrix) - 1]
    then = np.array([matrix[rows[i], i] for i in earlier])
    transfer = [matrix[rows[i] - 1, i] - chances[i] for i in done if rows[i] > 1]
    return {
        "acc": _mean(last[done]),
        "fgt": _mean(then - last[earlier]),
        "fwt": _mean(np.array(transfer)),
        "bwt": _mean(last[earlier] - then),
    }


def curve(
    matrix: Matrix,
    learned: Sequence[int | None] | None = None,
    seen: Sequence[int] | None = None,
) -> list[float]:
    """Return the mean accuracy over the parts learned, after each evaluation.

    >>> curve(np.array([[0, 0], [90, 0], [60, 80]], float))
    [90.0, 70.0]
    """
    at, when = _places(matrix, learned, seen)
    found = []
    for row, count in zip(matrix[1:], at[1:], strict=True):
        done = [i for i, number in enumerate(when) if number is not None and number <= count]
        found.append(_mean(row[done]))
    return found


def _places(
    matrix: Matrix, learned: Sequence[int | None] | None, seen: Sequence[int] | None
) -> tuple[Sequence[int], Sequence[int | None]]:
    """Return the experiences seen at each row, and those after which each part is learned."""
    at = range(len(matrix)) if seen is None else seen
    return at, range(1, matrix.shape[1] + 1) if learned is None else learned


def _mean(values: Matrix) -> float:
    return float(values.mean()) if len(values) else 0.0
