"""Is a file what the registry says it is: sums where they are known, structure always."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from sffa.data import idx
from sffa.data.dataset import Array
from sffa.data.entry import Entry, File
from sffa.errors import DataError
from sffa.files import reading


def read_verified(entry: Entry, file: File, path: Path) -> Array:
    """Read ``path``, verify it as ``file`` of ``entry`` and return its array.

    A wrong sum is an error that names the file and both sums.
    """
    # More than the content, so that of one damaged header or trailing bytes a sum can be named.
    limit = 2 * int(np.prod(file.shape)) + (1 << 20)
    blob = idx.read_bytes(path, limit=limit)
    try:
        content = idx.inflate(blob, str(path), limit=limit)
    except DataError as error:
        if file.sha256:
            found = hashlib.sha256(blob).hexdigest()
            sums = f"; SHA-256 of the file is {found}, of sound content {file.sha256}"
        else:
            sums = f"; {_both(blob, file.gz_sha256)}" if file.gz_sha256 else ""
        raise DataError(f"{error}{sums}") from None
    if file.sha256:
        _compare(entry, path, content, file.sha256, "the decompressed content")
    elif file.gz_sha256 and idx.is_gz(blob):
        _compare(entry, path, blob, file.gz_sha256, "the .gz file")
    return _structured(entry, file, path, content)


def gzipped(path: Path) -> bool:
    """Whether the file at ``path`` is gzipped, by its first bytes."""
    with reading(path) as file:
        return idx.is_gz(file.read(2))


def _compare(entry: Entry, path: Path, blob: bytes, expected: str, what: str) -> None:
    """Raise unless the SHA-256 of ``blob`` is ``expected``."""
    if hashlib.sha256(blob).hexdigest() != expected:
        raise DataError(f"{path}: not {entry.name}, or damaged; of {what}, {_both(blob, expected)}")


def _both(blob: bytes, expected: str) -> str:
    return f"SHA-256 is {hashlib.sha256(blob).hexdigest()}, expected {expected}"


def _structured(entry: Entry, file: File, path: Path, content: bytes) -> Array:
    """Return ``content`` as an array of the announced shape with labels in range."""
    if entry.format == "cifar":
        size = int(np.prod(file.shape))
        if len(content) != size:
            raise DataError(f"{path}: {len(content):,} bytes, expected {size:,}")
        array: Array = np.frombuffer(content, np.uint8).reshape(file.shape)
        labels: Array | None = array[:, 0]
    else:
        array = idx.decode(content, str(path))
        if array.shape != file.shape or array.dtype != np.uint8:
            raise DataError(
                f"{path}: {array.dtype} of shape {array.shape}, expected uint8 of {file.shape}"
            )
        labels = array if array.ndim == 1 else None
    if labels is not None:
        first, last = entry.first_label, entry.first_label + len(entry.class_names) - 1
        low, high = int(labels.min()), int(labels.max())
        if low < first or high > last:
            raise DataError(
                f"{path}: labels {low} to {high} out of range, expected {first} to {last}"
            )
    return array
