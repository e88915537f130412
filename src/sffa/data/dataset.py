"""Examples as arrays: a split is images and labels, a dataset is two splits and a description."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sffa import splits
from sffa.errors import ConfigurationError, DataError
from sffa.files import checksum

Array = NDArray[Any]
Labels = NDArray[np.int64]
Columns = tuple[tuple[str, tuple[str, ...] | None], ...]
"""The columns of a table that features were made of: names, and categories unless numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Images ``x`` (N, ...) with labels ``y`` (N,) in 0..C-1.

    ``x`` is uint8 or float32 of shape (N, H, W), (N, H, W, C) or (N, d); ``y`` is int64.

    >>> split = Split(np.zeros((3, 2, 2), np.uint8), np.array([0, 1, 0]))
    >>> len(split), split.flat.shape, split.subset([0, 2]).y.tolist()
    (3, (3, 4), [0, 0])
    """

    x: Array
    y: Labels

    def __post_init__(self) -> None:
        if self.x.ndim < 2 or self.y.ndim != 1 or len(self.x) != len(self.y):
            raise DataError(
                f"images of shape {self.x.shape} do not go with labels of shape {self.y.shape}; "
                "expected (N, ...) and (N,)"
            )

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Split({len(self)} examples of {self.x.shape[1:]}, {self.x.dtype})"

    @property
    def flat(self) -> Array:
        """The images as rows: a view of shape (N, d)."""
        return self.x.reshape(len(self), -1)

    def subset(self, index: Any) -> Split:
        """Return the examples at ``index`` (integers, a mask or a slice) as a new split."""
        return Split(self.x[index], self.y[index])


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A training and a test split, the names of the classes, and how to standardise.

    ``mean`` and ``std`` are of pixels scaled to [0, 1] for uint8, of the raw values for float: one
    number for all pixels, or one for each feature of a table. ``verified`` says how the files of a
    dataset of the registry were verified when they were read; it is empty for any other.
    ``columns`` are those of a table file.

    >>> from sffa.data import load
    >>> data = load("digits")
    >>> data
    Dataset('digits', 1437 train, 360 test, shape (8, 8), 10 classes)
    >>> data.train.flat.shape, data.train.y.shape, str(data.train.x.dtype)
    ((1437, 64), (1437,), 'uint8')
    """

    name: str
    train: Split
    test: Split
    class_names: tuple[str, ...]
    mean: float | Array
    std: float | Array
    verified: str = ""
    columns: Columns = ()

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}, {len(self.train)} train, {len(self.test)} test, "
            f"shape {self.shape}, {self.classes} classes)"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one example."""
        return tuple(self.train.x.shape[1:])

    @property
    def features(self) -> int:
        """Number of values in one example."""
        return int(np.prod(self.shape))

    @property
    def checksum(self) -> int:
        """CRC-32 of all examples and labels, which tells them from others of the same size."""
        return checksum(self.train.x, self.train.y, self.test.x, self.test.y)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def hold_out(self, n: int, seed: int) -> tuple[Dataset, Split]:
        """Take ``n`` training examples away, drawn from ``np.random.default_rng(seed)``.

        Returns the dataset without them and the examples held out, both in their first order.
        The test split, ``mean`` and ``std`` stay as they are.

        >>> from sffa.data import load
        >>> data, held = load("digits").hold_out(200, seed=0)
        >>> len(data.train), len(held)
        (1237, 200)
        """
        size = len(self.train)
        if not 0 < n < size:
            raise ConfigurationError(
                f"cannot hold out {n} of the {size} training examples of {self.name!r}; "
                f"expected 1 to {size - 1}"
            )
        kept, held = splits.hold_out(self.train.y, int(n), np.random.default_rng(seed))
        return replace(self, train=self.train.subset(kept)), self.train.subset(held)
