"""Datasets of the registry as they lie in the directory, verified on every reading."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sffa.data.dataset import Array, Split
from sffa.data.directory import find
from sffa.data.entry import Entry, File, summarise
from sffa.data.verify import gzipped, read_verified
from sffa.errors import DataError


def read_file(entry: Entry, file: File, directory: Path) -> Array | None:
    """Read and verify one file of ``entry``, or return None where it is absent."""
    path = find(entry, file, directory)
    if path is None:
        return None
    try:
        return read_verified(entry, file, path)
    except DataError as error:
        hint = f"; 'sffa data fetch {entry.name} --force' replaces it" if entry.sources else ""
        raise DataError(f"{error}{hint}") from None


def read_splits(entry: Entry, directory: Path) -> tuple[Split, Split]:
    """Read and verify the training and the test split of ``entry``, which must be there."""
    train, test = (_split(entry, files, directory) for files in (entry.train, entry.test))
    return train, test


def verified_by(entry: Entry, directory: Path) -> str:
    """Return how the files that are here are verified; a raw one may be so by structure only."""
    paths = [find(entry, file, directory) for file in entry.files]
    if entry.format == "embedded" or None in paths:
        return entry.verification
    pairs = zip(entry.files, paths, strict=True)
    return summarise([file.verified(gz=path is not None and gzipped(path)) for file, path in pairs])


def _split(entry: Entry, files: tuple[File, ...], directory: Path) -> Split:
    arrays: list[Array] = []
    for file in files:
        array = read_file(entry, file, directory)
        if array is None:
            raise DataError(f"{directory / entry.name}: {file.name} is absent")
        arrays.append(array)
    if entry.format == "cifar":
        y = np.concatenate([records[:, 0] for records in arrays])
        x = np.empty((len(y), *entry.shape), np.uint8)
        start = 0
        for records in arrays:
            planes = records[:, 1:].reshape(-1, entry.shape[2], *entry.shape[:2])
            x[start : start + len(records)] = planes.transpose(0, 2, 3, 1)
            start += len(records)
    else:
        x, y = arrays
        if entry.transposed:
            x = np.ascontiguousarray(x.transpose(0, 2, 1))
    labels = y.astype(np.int64) - entry.first_label
    _check_counts(entry, labels, directory)
    return Split(x, labels)


def _check_counts(entry: Entry, labels: Array, directory: Path) -> None:
    """Every class must be there, and equally often where the dataset is known to be balanced."""
    counts = np.bincount(labels, minlength=len(entry.class_names))
    if counts.min() == 0 or (entry.balanced and counts.min() != counts.max()):
        raise DataError(
            f"{directory / entry.name}: not {entry.name}, or damaged; "
            f"examples per class are {counts.tolist()}"
        )
