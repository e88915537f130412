"""Tables as scikit-learn knows them: checked, with one clear line for what cannot be used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from sffa.errors import DataError, SFFAError
from sffa.standardise import ROUNDING, feature_moments

Table = NDArray[Any]
Labels = NDArray[Any]

_LARGEST = 1e30
_REACH = 10.0


class DataTypeError(DataError, TypeError):
    """A table of a kind that is not supported, sparse or of objects that are no numbers."""


def examples(estimator: Any, X: Any, *, reset: bool = False) -> Table:
    """Check a table (examples, features); ``reset`` takes the number of features from it."""
    with _one_line():
        table = validate_data(estimator, X, reset=reset, dtype=[np.float32, np.float64])
        return np.asarray(table)


def labelled(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Table, Labels]:
    """Check a table together with a label for each example."""
    with _one_line():
        table, labels = validate_data(estimator, X, y, reset=reset, dtype=[np.float32, np.float64])
        labels = column_or_1d(labels, warn=True)
        check_classification_targets(labels)
    return np.asarray(table), np.asarray(labels)


def kind(labels: Labels) -> str:
    """Return whether labels are strings or numbers, which do not mix in one set of classes."""
    words = labels.dtype.kind in "US" or (
        labels.dtype.kind == "O" and any(isinstance(label, str) for label in labels)
    )
    return "strings" if words else "numbers"


def checked_moments(table: Table) -> tuple[Table, Table]:
    """Return mean and deviation of each feature; the deviation of a constant one is 1."""
    if float(np.abs(table).max()) > _LARGEST:
        feature = int(np.abs(table).max(axis=0).argmax())
        raise DataError(
            f"feature {feature} holds values beyond {_LARGEST:g}, too large to compute with; "
            "scale it first"
        )
    return feature_moments(table, rounding=ROUNDING)


def within_reach(table: Table, mean: Table, std: Table) -> Table:
    """Cut values at ten deviations from the mean, so that no stray one drowns the others."""
    return np.clip(table, mean - _REACH * std, mean + _REACH * std).astype(np.float32)


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Turn what scikit-learn says in several lines into one, as an error of ours."""
    try:
        yield
    except SFFAError:
        raise
    except (ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        if "contains NaN" in text:
            where = text.split(" contains NaN")[0]
            text = f"{where} contains NaN; impute or drop the missing values first"
        made = DataTypeError if isinstance(error, TypeError) else DataError
        raise made(text) from None
