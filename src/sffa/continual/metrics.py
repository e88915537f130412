"""Metrics of a continual run, all from the accuracy matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, np.dtype[np.float64]]


def summary(matrix: Matrix, chances: Sequence[float]) -> dict[str, float]:
    """Return Acc, Fgt, FwT and BWT, in percent as the matrix.

    Row j of ``matrix`` (T+1, T) is the accuracy on every experience after training on j of them,
    row 0 that before training; ``chances`` is what guessing gives once each is learned. With one
    experience there is nothing to forget or transfer: these are 0.

    >>> matrix = np.array([[0, 0], [90, 0], [60, 80]], float)
    >>> summary(matrix, [50, 25])
    {'acc': 70.0, 'fgt': 30.0, 'fwt': -25.0, 'bwt': -30.0}
    """
    last = matrix[-1]
    learned = matrix[1:].diagonal()
    unseen = matrix[1:].diagonal(offset=1)
    return {
        "acc": float(last.mean()),
        "fgt": _mean(learned[:-1] - last[:-1]),
        "fwt": _mean(unseen - np.asarray(chances, float)[1:]),
        "bwt": _mean(last[:-1] - learned[:-1]),
    }


def curve(matrix: Matrix) -> list[float]:
    """Return the mean accuracy over the experiences seen, after each.

    >>> curve(np.array([[0, 0], [90, 0], [60, 80]], float))
    [90.0, 70.0]
    """
    return [float(row[: j + 1].mean()) for j, row in enumerate(matrix[1:])]


def _mean(values: Matrix) -> float:
    return float(values.mean()) if len(values) else 0.0
