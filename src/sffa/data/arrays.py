"""The user's own examples in memory: arrays of pixels with labels of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sffa.data.dataset import Array, Dataset, Labels, Split
from sffa.data.plain import plain
from sffa.errors import DataError
from sffa.splits import hold_out
from sffa.standardise import scale_of

TEST_SHARE = 0.2
SPLIT_SEED = 0


def from_arrays(
    x_train: Any,
    y_train: Any,
    x_test: Any = None,
    y_test: Any = None,
    class_names: Sequence[str] | None = None,
    name: str = "arrays",
) -> Dataset:
    """Make a dataset of arrays; without test arrays a fifth of the examples is put aside.

    Arrays may be lists, tensors, or data frames and series, which are asked ``to_numpy()``.
    Images are (N, H, W), (N, H, W, C), (N, C, H, W) or (N, d). Numbers (N, d) are the
    features of a table, each standardised by itself, unless they look like pixels: in 0 to 1, or
    whole and in 0 to 255. Labels are integers or strings;
    with ``class_names`` they are positions in it or names of it, otherwise the distinct ones in
    order become the classes.

    >>> data = from_arrays(np.eye(4), ["cat", "dog", "cat", "dog"], np.eye(4), ["dog"] * 4)
    >>> data.class_names, data.train.y.tolist()
    (('cat', 'dog'), [0, 1, 0, 1])
    """
    if (x_test is None) != (y_test is None):
        raise DataError(f"{name}: test images and test labels go together; one is missing")
    x, raw = _pixels(x_train, f"{name}: training images"), _labels(y_train, f"{name}: training")
    _same_count(x, raw, f"{name}: training")
    classes, y = _classes(raw, class_names, name)
    if x_test is None:
        train, test = split(Split(x, y), name)
    else:
        train = Split(x, y)
        x2, raw2 = _pixels(x_test, f"{name}: test images"), _labels(y_test, f"{name}: test")
        _same_count(x2, raw2, f"{name}: test")
        if x2.shape[1:] != x.shape[1:]:
            raise DataError(
                f"{name}: test images of {x2.shape[1:]}, training images of {x.shape[1:]}"
            )
        if x2.dtype != x.dtype:
            raise DataError(f"{name}: test images are {x2.dtype}, training images {x.dtype}")
        named = class_names is not None
        test = Split(x2, _positions(raw2, classes, f"{name}: test", by_position=named))
    mean, std = scale_of(train.x)
    return Dataset(name, train, test, tuple(str(c) for c in classes), mean, std)


def split(everything: Split, name: str) -> tuple[Split, Split]:
    """Put a fifth of each class aside for testing, the same fifth each time."""
    kept, aside = hold_out(everything.y, TEST_SHARE, np.random.default_rng(SPLIT_SEED))
    if not len(aside):
        raise DataError(
            f"{name}: {len(everything)} examples are too few to put some aside for testing; "
            "give test examples too"
        )
    return everything.subset(kept), everything.subset(aside)


def _pixels(values: Any, what: str) -> Array:
    """Return images as uint8 (whole numbers 0..255) or finite float32, channels last."""
    x = plain(values, what)
    if x.dtype.kind not in "buif":
        raise DataError(f"{what} must be numbers of one size, got {x.dtype}")
    if x.ndim == 1 and len(x):
        raise DataError(
            f"{what} must be (N, d), (N, H, W) or (N, H, W, C), got shape {x.shape}; "
            "one feature is (N, 1): reshape(-1, 1)"
        )
    if not 2 <= x.ndim <= 4:
        raise DataError(f"{what} must be (N, d), (N, H, W) or (N, H, W, C), got shape {x.shape}")
    if x.size == 0:
        raise DataError(f"{what} are empty, shape {x.shape}")
    if x.ndim == 4 and x.shape[1] in (1, 3, 4) and x.shape[3] not in (1, 3, 4):
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    if x.ndim == 4 and x.shape[3] == 1:
        x = x[..., 0]
    if x.dtype.kind in "ui" and x.min() >= 0 and x.max() <= 255:
        return x.astype(np.uint8, copy=False)
    with np.errstate(over="ignore"):
        x = x.astype(np.float32, copy=False)
    finite = np.isfinite(x).reshape(len(x), -1).all(axis=1)
    if not finite.all():
        raise DataError(
            f"{what}: NaN or infinite values in {int((~finite).sum())} of {len(x)} examples, "
            f"first in example {int(np.argmin(finite))}"
        )
    return x


def _labels(values: Any, what: str) -> Array:
    """Return labels as an array of integers or strings."""
    y = plain(values, f"{what} labels", text=True)
    if y.ndim == 1 and y.dtype.kind == "f":
        y = y.astype(np.float64) if y.dtype.itemsize < 8 else y
        wrong = ~np.isfinite(y)
        if wrong.any():
            raise DataError(
                f"{what} label of example {int(np.argmax(wrong))} is missing: {y[wrong][0]}"
            )
        if (y == np.floor(y)).all():  # whole numbers, as CSV files give them
            if (np.abs(y) >= 2.0**63).any():
                raise DataError(f"{what} labels are too large, up to {np.abs(y).max():g}")
            y = y.astype(np.int64)
    if y.ndim != 1 or y.dtype.kind not in "buiU":
        raise DataError(
            f"{what} labels must be (N,) integers or strings, got {y.dtype} of shape {y.shape}"
        )
    return y


def _same_count(x: Array, y: Array, what: str) -> None:
    if len(x) != len(y):
        raise DataError(f"{what}: {len(x)} images but {len(y)} labels")


def _classes(y: Array, class_names: Sequence[str] | None, name: str) -> tuple[list[Any], Labels]:
    """Return the classes and each label's position among them."""
    if class_names is None:
        distinct, position = np.unique(y, return_inverse=True)
        classes: list[Any] = distinct.tolist()
    else:
        try:
            classes = [str(label) for label in class_names]
        except TypeError:
            kind = type(class_names).__name__
            raise DataError(f"{name}: class names must be a list of text, got {kind}") from None
        if len(set(classes)) != len(classes):
            raise DataError(f"{name}: two classes have the same name")
        position = _positions(y, classes, f"{name}: training", by_position=True)
    if len(classes) < 2 or len(np.unique(position)) < 2:
        raise DataError(
            f"{name}: all training labels are the same; at least two classes are needed"
        )
    return classes, position.astype(np.int64)


def _positions(y: Array, classes: list[Any], what: str, *, by_position: bool) -> Labels:
    """Return each label's position in ``classes``; integers are one already if ``by_position``."""
    if by_position and y.dtype.kind != "U":
        wrong = (y < 0) | (y >= len(classes))
        if wrong.any():
            bad = y[int(np.argmax(wrong))]
            raise DataError(f"{what} label {bad} out of range, expected 0 to {len(classes) - 1}")
        return y.astype(np.int64)
    where = {label: position for position, label in enumerate(classes)}
    labels = y.tolist()
    found = [where.get(label, -1) for label in labels]
    if -1 in found:
        bad = repr(labels[found.index(-1)])[:80]
        raise DataError(f"{what} label {bad} out of range, it is none of the training classes")
    return np.array(found, np.int64)
