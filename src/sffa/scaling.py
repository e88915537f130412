"""Mean and deviation of inputs: one for all pixels, or one for each feature of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from sffa.errors import DataError

Array = np.ndarray[Any, Any]
_CHUNK = 1 << 24
_LARGEST = 1e30


def scale_of(x: Array) -> tuple[Any, Any]:
    """Return mean and deviation of examples (N, ...): of each feature of a table, else of all.

    >>> scale_of(np.array([[0, 255]], np.uint8))
    (0.5, 0.5)
    """
    return feature_moments(x) if is_table(x) else moments(x)


def moments(x: Array) -> tuple[float, float]:
    """Return mean and standard deviation over all values, uint8 scaled to [0, 1]."""
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


def feature_moments(x: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each feature; the deviation of a constant one is 1.

    >>> mean, std = feature_moments(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> mean.tolist(), std.tolist()
    ([2.0, 5.0], [1.0, 1.0])
    """
    if float(np.abs(x).max()) > _LARGEST:
        feature = int(np.abs(x).max(axis=0).argmax())
        raise DataError(
            f"feature {feature} holds values beyond {_LARGEST:g}, too large to compute with; "
            "scale it first"
        )
    mean, std = x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)
    noise = 10 * np.finfo(np.float32).eps * np.abs(mean)
    return mean, np.where(std > np.maximum(noise, 1e-30), std, 1.0)
