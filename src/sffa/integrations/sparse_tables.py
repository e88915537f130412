"""Tables of SciPy that keep only what is not zero: made dense some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from scipy.sparse import issparse

from sffa.errors import DataError

_NUMBERS = 1 << 22  # in a block that is dense at once
_ROWS = 8  # a block is a multiple of this many
_BYTES = 8

Array = NDArray[Any]


def blocks(table: Any) -> Iterator[tuple[slice, Array]]:
    """Yield a table in parts that are dense, one that is dense as a whole.

    >>> from scipy.sparse import csr_array
    >>> [part.tolist() for rows, part in blocks(csr_array(np.eye(2)))]
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    if not issparse(table):
        yield slice(0, len(table)), np.asarray(table)
        return
    count, features = table.shape
    size = max(_NUMBERS // features // _ROWS, 1) * _ROWS
    for start in range(0, count, size):
        rows = slice(start, start + size)
        yield rows, table[rows].toarray()


def row_keys(table: Any, classes: Array) -> Array:
    """Return a key for each row and class, the same for those that are the same: (N,)."""
    if not issparse(table):
        rows = np.ascontiguousarray(np.column_stack([table + 0.0, classes]))  # no -0.0
        return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    plain = table.copy()
    plain.sum_duplicates()
    plain.eliminate_zeros()
    keys, names = np.empty(len(classes), object), [name.tobytes() for name in classes]
    for row, (first, last) in enumerate(zip(plain.indptr[:-1], plain.indptr[1:], strict=True)):
        part = slice(first, last)
        keys[row] = plain.indices[part].tobytes() + plain.data[part].tobytes() + names[row]
    return keys


def check_room(table: Any, rows: int, why: str) -> None:
    """Refuse a sparse table of which so many rows, once dense, do not fit into memory."""
    needed, free = rows * table.shape[1] * _BYTES, psutil.virtual_memory().available
    if needed > free:
        raise DataError(
            f"X is sparse, and {why} needs {rows:,} rows of {table.shape[1]:,} features at once, "
            f"{needed / 2**30:,.1f} GB where {free / 2**30:,.1f} GB are free: choose features "
            "(SelectKBest, TruncatedSVD), or continual=None and early_stopping=False"
        )
