"""Arrays in memory: every kind, shape and mixture that a user may hand over."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from fuzz.surface import Surface
from sffa.data import from_arrays

_ODD = (
    None,
    float("nan"),
    float("inf"),
    -1,
    2**70,
    1e300,
    "a",
    "",
    b"b",
    3.5,
    True,
    1j,
    [],
    {},
    (),
)
_TYPES = ("u1", "i8", "u8", "f2", "f4", "f8", "f16", "c16", "?", "O", "U5", "S3", "M8[s]", "m8[D]")


def _x(rng: Random, rows: int) -> Any:
    shape = (
        rows,
        *(
            rng.choice((0, *(1, 2, 3, 4) * 4))
            for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 2, 3, 3, 4)))
        ),
    )
    values = np.array([rng.randrange(-3, 300) for _ in range(int(np.prod(shape)))], "i8")
    return _kind(rng, values.reshape(shape))


def _y(rng: Random, rows: int) -> Any:
    labels: list[Any] = [rng.choice(("a", "b", "c")) for _ in range(rows)]
    if rng.random() < 0.7:
        labels = [rng.choice((0, 1, 2)) for _ in range(rows)]
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        if labels:
            labels[rng.randrange(rows)] = rng.choice(_ODD)
    if rng.random() < 0.5:
        return rng.choice((labels, tuple(labels)))
    array = np.empty(rows, object)
    array[:] = labels
    return _kind(rng, array)


class _Frame:
    """Looks like a data frame."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def to_numpy(self) -> Any:
        """Return the values, whatever they are."""
        return self.values


def _kind(rng: Random, array: Any) -> Any:
    """Return an array as one of another type, a list, a tensor, a frame or something spoiled."""
    with np.errstate(all="ignore"):
        try:
            if rng.random() < 0.4:
                array = array.astype(rng.choice(_TYPES))
        except (ValueError, TypeError, OverflowError):
            pass
    choice = rng.randrange(20)
    if choice == 0:
        return array.tolist()
    if choice == 1:
        return _Frame(array)
    if choice == 2 and array.dtype.kind in "ui" and array.dtype != "u8":
        return torch.from_numpy(array.copy()).to(
            rng.choice((torch.float32, torch.bfloat16, torch.int8))
        )
    if choice == 3 and array.size:
        spoiled = array.astype(object)
        spoiled.flat[rng.randrange(array.size)] = None
        spoiled.flat[rng.randrange(array.size)] = rng.choice((float("nan"), "a", 2**70, 1j))
        return spoiled
    if choice == 4 and array.size:
        return np.ma.masked_array(array, np.zeros(array.shape, bool))
    if choice == 5:
        return rng.choice((None, 3, "text", object(), iter([1])))
    return array[::-1] if choice == 6 else array


def make(rng: Random, folder: Path) -> tuple[Any, ...]:
    """Return the arguments of one call."""
    rows = rng.choice((0, 1, 2, 7, 7, 10, 10, 10))
    arguments = [_x(rng, rows), _y(rng, rng.choice((rows, rows, rows, rows, rows + 1)))]
    if rng.random() < 0.4:
        arguments += [_x(rng, 3), _y(rng, 3)]
        if rng.random() < 0.3:
            arguments.append(rng.choice((["a", "b", "c"], [], ["a", "a"], 7, "abc", [None, 1, 2])))
    return tuple(arguments)


def read(arguments: tuple[Any, ...]) -> None:
    """Make a dataset of the arrays."""
    data = from_arrays(*arguments)
    assert data.train.y.max() < data.classes
    assert np.isfinite(data.train.x).all()


SURFACE = Surface(make, read)
