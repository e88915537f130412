"""Mean and deviation of inputs, of all pixels together or of each feature of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sffa.errors import DataError

Array = NDArray[Any]

ROUNDING = 10 * float(np.finfo(np.float32).eps)
"""A deviation below this share of the mean is rounding, not variation."""
_SMALLEST = 1e-30
_CHUNK = 1 << 22


def scale_of(x: Array) -> tuple[Any, Any]:
    """Return mean and deviation of examples (N, ...): of each feature of a table, else of all.

    >>> scale_of(np.array([[0, 255]], np.uint8))
    (0.5, 0.5)
    """
    if not is_table(x):
        return moments(x)
    mean, std = feature_moments(x, rounding=ROUNDING)
    if (x == x[:1]).all():
        raise DataError("every training example is the same: nothing can be learned")
    return mean.astype(np.float32), std.astype(np.float32)


def is_table(x: Array) -> bool:
    """Whether the columns are features with scales of their own, not pixels, which share one.

    Pixels lie in 0 to 1, or are whole numbers in 0 to 255.

    >>> is_table(np.array([[0.1, 900.0]])), is_table(np.array([[0.1, 0.9]]))
    (True, False)
    """
    if x.ndim != 2 or x.dtype == np.uint8:
        return False
    whole = bool((x == np.floor(x)).all())
    return not (x.min() >= 0 and x.max() <= (255 if whole else 1))


def moments(x: Array) -> tuple[float, float]:
    """Return mean and standard deviation over all values, uint8 scaled to [0, 1].

    >>> moments(np.array([[0, 255]], np.uint8))
    (0.5, 0.5)
    """
    flat = x.reshape(-1)
    if x.dtype == np.uint8:
        counts = np.zeros(256, np.int64)
        for start in range(0, len(flat), _CHUNK):
            counts += np.bincount(flat[start : start + _CHUNK], minlength=256)
        values = np.arange(256) / 255
        mean = float(counts @ values) / len(flat)
        std = float(np.sqrt(counts @ (values - mean) ** 2 / len(flat)))
    else:
        mean = float(flat.mean(dtype=np.float64))
        std = float(flat.std(dtype=np.float64))
    if not std > 0:
        raise DataError("every value of the training examples is the same: nothing can be learned")
    return mean, std


def feature_moments(table: Array, *, rounding: float = 0.0) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column (float64); that of a constant one is 1.

    A column counts as constant if its deviation is not above ``rounding`` times its mean.

    >>> mean, std = feature_moments(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> mean.tolist(), std.tolist()
    ([2.0, 5.0], [1.0, 1.0])
    """
    mean = table.mean(axis=0, dtype=np.float64)
    std = table.std(axis=0, dtype=np.float64)
    return mean, _positive(std, mean, rounding)


def _positive(std: Array, mean: Array, rounding: float) -> Array:
    """Return deviations with 1 in place of those that are no more than rounding."""
    least = np.maximum(rounding * np.abs(mean), _SMALLEST) if rounding else 0.0
    return np.where(std > least, std, 1.0)


class RunningMoments:
    """Mean and deviation of each feature over all examples so far, which portions add to.

    Portions are joined by their moments (Chan 1979), so that the order of examples, and how they
    were cut into portions, only shows in the rounding.

    >>> seen = RunningMoments()
    >>> for portion in ([[1.0, 5.0]], [[3.0, 5.0]]):
    ...     seen.update(np.array(portion))
    >>> seen.mean.tolist(), seen.std.tolist()
    ([2.0, 5.0], [1.0, 1.0])
    """

    def __init__(self) -> None:
        self.count = 0.0
        self.mean: Array = np.zeros(0)
        self.squares: Array = np.zeros(0)  # weighted sum of squared distances from the mean

    def update(self, table: Array, weight: Array | None = None) -> None:
        """Take in examples (N, D), each with its weight (N,) or 1."""
        each = np.ones(len(table)) if weight is None else weight
        total = float(each.sum())
        if not total > 0:
            return
        mean = each @ table.astype(np.float64, copy=False) / total
        squares = each @ np.square(table - mean)
        if not self.count:
            self.count, self.mean, self.squares = total, mean, squares
            return
        share, apart = total / (self.count + total), mean - self.mean
        self.squares = self.squares + squares + self.count * share * np.square(apart)
        self.mean = self.mean + share * apart
        self.count += total

    @property
    def std(self) -> Array:
        """The deviation of each feature; that of a constant one is 1."""
        return _positive(np.sqrt(self.squares / self.count), self.mean, ROUNDING)


class RunningScale(RunningMoments):
    """Mean and deviation of all examples met so far, of each feature or of all pixels together.

    Whether features have scales of their own is decided by the first examples.

    >>> scale = RunningScale()
    >>> scale.add(np.array([[0], [255]], np.uint8))
    >>> scale.add(np.array([[255], [255]], np.uint8))
    >>> scale.values()[0]
    0.75
    """

    def add(self, x: Array) -> None:
        """Take examples (N, ...) into account."""
        flat = x.reshape(len(x), -1) / (255.0 if x.dtype == np.uint8 else 1.0)
        per_feature = is_table(x) if not self.count else len(self.mean) > 1
        self.update(flat.reshape(-1, flat.shape[1] if per_feature else 1))

    def values(self) -> tuple[Any, Any]:
        """Return mean and deviation, of each feature or of all; that of a constant one is 1."""
        if len(self.mean) == 1:
            return float(self.mean[0]), float(self.std[0])
        return self.mean.astype(np.float32), self.std.astype(np.float32)
