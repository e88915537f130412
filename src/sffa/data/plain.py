"""Whatever holds numbers or labels, as one plain array: lists, tensors, data frames, objects."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from sffa.data.dataset import Array
from sffa.errors import DataError


def plain(values: Any, what: str, *, text: bool = False) -> Array:
    """Return ``values`` as an array that holds no objects; ``text`` allows strings of one.

    Data frames and series are asked for ``to_numpy()``, tensors are detached and brought to the
    processor. Missing values, mixtures of numbers and text, and arrays of different sizes are a
    ``DataError`` that begins with ``what``.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise DataError(f"{what}: some values are masked; fill or drop them first")
    if hasattr(values, "toarray") and not isinstance(values, np.ndarray):
        raise DataError(f"{what} are sparse; give the dense array, toarray()")
    try:
        array = _converted(values)
    except MemoryError:
        raise
    except Exception as error:  # foreign containers raise whatever they like
        if "inhomogeneous" in str(error) or isinstance(values, list | tuple):
            raise DataError(f"{what} are not all of the same size") from None
        told = " ".join(str(error).split())[:120]
        raise DataError(
            f"{what} cannot be turned into an array, a {type(values).__name__} ({told})"
        ) from None
    if array.dtype.kind == "O":
        array = _without_objects(array, what, text)
    elif text and array.dtype.kind == "U" and isinstance(values, list | tuple):
        _check_text(values, what)
    return array


def _converted(values: Any) -> Array:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if values.is_floating_point() and values.element_size() < 4:
            values = values.float()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    return np.asarray(values)


def _without_objects(array: Array, what: str, text: bool) -> Array:
    """Return an array of objects as one of numbers, or of text, if all its elements are such."""
    elements = array.ravel().tolist()
    if text and elements and all(isinstance(element, str) for element in elements):
        return array.astype(str)
    ordered = sorted(enumerate(elements), key=lambda pair: pair[1] is not None)
    for position, element in ordered:  # what is missing is named first
        if isinstance(element, np.ndarray | list | tuple):
            raise DataError(f"{what} are not all of the same size")
        if not isinstance(element, numbers.Real):
            example = position // max(1, len(elements) // max(1, len(array))) if array.ndim else 0
            shown = "missing: None" if element is None else f"a {type(element).__name__}"
            mixed = " among numbers" if isinstance(element, str) else ""
            raise DataError(
                f"{what} must be numbers{' or text' if text else ''} only; "
                f"that of example {example} is {shown}{mixed}"
            )
    whole = all(isinstance(element, numbers.Integral) for element in elements)
    try:
        return array.astype(np.int64 if whole else np.float64)
    except (OverflowError, ValueError, TypeError):
        raise DataError(f"{what}: some numbers are too large") from None


def _check_text(values: Any, what: str) -> None:
    """Refuse a list of text and other things, which numpy would turn into text silently."""
    for position, element in enumerate(values):
        if not isinstance(element, str):
            raise DataError(
                f"{what} must be all text or all numbers; "
                f"that of example {position} is a {type(element).__name__} among text"
            )
