"""Tables as scikit-learn knows them: checked, with one clear line for what cannot be used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from sffa.errors import ConfigurationError, DataError, SFFAError
from sffa.integrations.sparse_tables import row_keys

Table = Any  # an array (examples, features), or a CSR matrix of SciPy
Labels = NDArray[Any]

_LARGEST = 1e30
_REACH = 10.0
_NUMBERS = [np.float32, np.float64]
_DATES = ("datetime.", "Timestamp", "Timedelta", "Period")  # names of types, as errors have them
_CLASSES = "biuUS"  # kinds of labels that are classes whatever they are


class DataTypeError(DataError, TypeError):
    """A table of a kind that is not supported: dates, or objects that are no numbers."""


def examples(estimator: Any, X: Any, *, reset: bool = False) -> Table:
    """Check a table (examples, features); ``reset`` takes the number of features from it."""
    if not reset and _as_learned(estimator, X):
        return np.asarray(X)
    _check_table(X)
    with _one_line():
        table = validate_data(estimator, X, reset=reset, dtype=_NUMBERS, accept_sparse="csr")
        return table if issparse(table) else np.asarray(table)


def labelled(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Table, Labels]:
    """Check a table together with a label for each example."""
    if not reset and _as_learned(estimator, X) and _plain_labels(y, len(X)):
        return np.asarray(X), np.asarray(y)
    _check_table(X)
    _check_labels(y)
    with _one_line():
        table, labels = validate_data(
            estimator, X, y, reset=reset, dtype=_NUMBERS, accept_sparse="csr"
        )
        if labels.ndim > 1:
            labels = column_or_1d(labels, warn=True)
        if labels.dtype.kind not in _CLASSES:  # it takes long
            check_classification_targets(labels)
    return table if issparse(table) else np.asarray(table), np.asarray(labels)


def _as_learned(estimator: Any, X: Any) -> bool:
    """Whether a table needs none of scikit-learn's checks, which take as long as a row's step."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and len(X) > 0
        and X.dtype in _NUMBERS
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X).all())
    )


def _plain_labels(y: Any, count: int) -> bool:
    """Whether labels need no check either."""
    return type(y) is np.ndarray and y.shape == (count,) and y.dtype.kind in _CLASSES


def _check_table(X: Any) -> None:
    """Refuse what scikit-learn would refuse in words that do not help."""
    shape = np.shape(X) if isinstance(X, list | np.ndarray) else getattr(X, "shape", (0, 0))
    if len(shape) == 1:
        raise DataError(
            f"Expected 2D array, a table (examples, features), got 1D array of shape {shape}. "
            "Reshape your data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is "
            "one example"
        )
    kinds: Any = getattr(X, "dtypes", None)
    columns = dict(kinds.items()) if hasattr(kinds, "items") else {None: getattr(X, "dtype", None)}
    for name, dtype in columns.items():
        if getattr(dtype, "kind", "-") in "Mm":
            what = "X" if name is None else f"column {name!r}"
            raise _dates(what, dtype)


def _dates(what: str, kind: Any) -> DataTypeError:
    return DataTypeError(
        f"{what} holds dates or times ({kind}), expected numbers; turn them into some, such as "
        "days since a date, hour and weekday"
    )


def _check_labels(y: Any) -> None:
    """Refuse examples without a label by the first of them."""
    labels = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind != "O":
        return
    missing = [place for place, label in enumerate(labels) if label is None or label != label]
    if missing:
        raise DataError(
            f"label {missing[0]} is {labels[missing[0]]}, and {len(missing)} of {len(labels)} are "
            "missing: drop the examples that have none"
        )


def weights(
    sample_weight: Any, class_weight: Any, table: Table, labels: Labels
) -> NDArray[np.float64] | None:
    """Return the weight of each example, or None where all are alike.

    ``class_weight`` is None, a dictionary by class, or ``"balanced"``: every class counts alike.
    """
    if sample_weight is None and class_weight is None:
        return None
    with _one_line():
        found = _check_sample_weight(
            sample_weight, table, dtype=np.float64, ensure_non_negative=True
        )
    if not found.any():
        raise DataError("every sample_weight is zero: nothing can be learned")
    return np.asarray(found * _class_factors(class_weight, labels, found))


def _class_factors(given: Any, labels: Labels, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    names, place = np.unique(labels, return_inverse=True)
    if given is None:
        return np.ones(len(labels))
    if isinstance(given, Mapping):
        strange = [name for name in given if name not in names.tolist()]
        if strange:
            raise ConfigurationError(
                f"class_weight names {strange[:5]}, which are not among the labels "
                f"{names[:10].tolist()}"
            )
        wrong = [w for w in given.values() if not is_number(w) or not 0 <= w < np.inf]
        if wrong:
            raise ConfigurationError(f"a class_weight is a number of 0 or more, got {wrong[0]!r}")
        return np.array([float(given.get(name, 1.0)) for name in names.tolist()])[place]
    if given != "balanced":
        raise ConfigurationError(
            f"class_weight is None, 'balanced' or a dictionary by class, got {given!r}"
        )
    total = np.bincount(place, weight)
    factors = np.divide(weight.sum(), len(names) * total, where=total > 0, out=np.zeros(len(names)))
    return np.asarray(factors[place])


def is_number(given: Any) -> bool:
    """Whether something can be compared with numbers."""
    return isinstance(given, int | float | np.integer | np.floating)


def distinct(
    table: Table, labels: Labels, weight: NDArray[np.float64] | None
) -> tuple[Table, Labels, NDArray[np.float64] | None]:
    """Return each different example once, in an order of its own, with the sum of its weights.

    So a fit does not depend on the order of the rows, and one that comes n times is the same as
    one of weight n; a weight of zero is the same as no row.
    """
    each = np.ones(len(labels)) if weight is None else weight
    used = np.flatnonzero(each > 0)
    classes = np.unique(labels, return_inverse=True)[1].astype(np.float64)
    keys = row_keys(table[used], classes[used])
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(place, each[used]).astype(np.float64)
    kept = used[first]
    return table[kept], labels[kept], None if (total == 1).all() else total


def kind(labels: Labels) -> str:
    """Return whether labels are strings or numbers, which do not mix in one set of classes."""
    words = labels.dtype.kind in "US" or (
        labels.dtype.kind == "O" and any(isinstance(label, str) for label in labels)
    )
    return "strings" if words else "numbers"


def check_range(table: Table) -> None:
    """Refuse values too large to compute with."""
    if float(np.abs(table).max()) > _LARGEST:
        feature = int(np.abs(table).max(axis=0).argmax())
        raise DataError(
            f"feature {feature} holds values beyond {_LARGEST:g}, too large to compute with; "
            "scale it first"
        )


def within_reach(table: NDArray[Any], mean: NDArray[Any], std: NDArray[Any]) -> NDArray[np.float32]:
    """Cut values at ten deviations from the mean, so that no stray one drowns the others."""
    return np.asarray(np.clip(table, mean - _REACH * std, mean + _REACH * std), np.float32)


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
        if text.startswith("Complex data not supported"):  # the whole table follows
            text = "Complex data not supported; give real numbers"
        if text.startswith("could not convert string to float"):
            text = f"{text}; encode words as numbers first, as OneHotEncoder does"
        strange = text.rpartition(" not ")[2].strip("'")
        if strange.startswith(_DATES):  # in a column of objects
            raise _dates("X", strange) from None
        made = DataTypeError if isinstance(error, TypeError) else DataError
        raise made(text) from None
