"""Every dataset by one function: a registered name, or the path of the user's own."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from sffa.data.array_files import from_idx, from_npy, from_npz, idx_pairs
from sffa.data.dataset import Dataset
from sffa.data.digits import load_digits
from sffa.data.directory import data_dir as resolve
from sffa.data.directory import missing
from sffa.data.entry import Entry
from sffa.data.fetch import fetch
from sffa.data.image_folder import from_folder
from sffa.data.reference import Reference
from sffa.data.registry import REGISTRY, lookup
from sffa.data.stored import read_splits, verified_by
from sffa.data.table_files import SUFFIXES, from_table
from sffa.errors import DataError, DownloadError
from sffa.files import kind_of
from sffa.standardise import moments


def load(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    target: str | None = None,
    size: tuple[int, int] | None = None,
    skip_unreadable: bool = False,
) -> Dataset:
    """Return the dataset of a registered name, or of a path.

    A path is an .npz file, a folder of IDX pairs, or a folder of images per class; or, with
    ``target``, a table (.csv, .tsv, .parquet) whose column of that name holds the labels, or an
    .npy file, mapped into memory, whose column of that number, or other .npy file of that name,
    does. ``size`` (width, height) brings images to one size; ``skip_unreadable`` leaves damaged
    ones out. The same can stand in the path: ``table.csv#target=label``. A registered
    dataset is verified each time; one that is absent is fetched if ``download``. Its name with
    ``split-`` before it, as streams are called, stands for the same dataset.

    >>> load("digits")
    Dataset('digits', 1437 train, 360 test, shape (8, 8), 10 classes)
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise DataError(
            f"expected a name or a path, got a {type(name_or_path).__name__}; "
            "sffa.data.from_arrays takes arrays"
        )
    whole = str(name_or_path).removeprefix("split-")
    if whole in REGISTRY:
        return load_entry(REGISTRY[whole], resolve(data_dir), download=download)
    told = Reference.parsed(str(name_or_path))
    told = replace(
        told,
        target=target if target is not None else told.target,
        size=size or told.size,
        skip_unreadable=skip_unreadable or told.skip_unreadable,
    )
    path = Path(told.place).expanduser()
    if "\0" in str(path):
        raise DataError(f"{str(path)!r}: not a path")
    if path.is_dir():
        return _from_directory(path, told)
    if path.is_file():
        return _from_file(path, told)
    if path.suffix or len(path.parts) > 1 or os.path.lexists(path):
        raise DataError(f"{path}: {_what_stands_at(path)}")
    return load_entry(lookup(told.place), resolve(data_dir), download=download)


def _from_directory(path: Path, told: Reference) -> Dataset:
    if told.target is not None:
        raise DataError(f"{path}: a folder has no column {told.target!r}; leave the target out")
    if idx_pairs(path):
        return from_idx(path)
    return from_folder(path, size=told.size, skip_unreadable=told.skip_unreadable)


def _from_file(path: Path, told: Reference) -> Dataset:
    kind = path.suffix.lower()
    if told.size is not None or told.skip_unreadable:
        raise DataError(f"{path}: size and skip-unreadable are for folders of images")
    if kind == ".npz" and told.target is None:
        return from_npz(path)
    if kind not in (*SUFFIXES, ".npy"):
        raise DataError(
            f"{path}: expected an .npz file, a table ({', '.join(SUFFIXES)}) or an .npy file with "
            "a target, a folder of IDX pairs, or of images"
        )
    if told.target is None:
        raise DataError(f"{path}: which column holds the labels? Name it with --target, or target=")
    return from_npy(path, told.target) if kind == ".npy" else from_table(path, told.target)


def _what_stands_at(path: Path) -> str:
    try:
        return f"is {kind_of(path.stat().st_mode)}; expected a file or a folder"
    except FileNotFoundError:
        return "no such file or folder"
    except OSError as error:
        return f"cannot be read ({error.strerror or error})"


def load_entry(entry: Entry, directory: Path, *, download: bool = True) -> Dataset:
    """Read and verify a dataset of the registry, fetching what is absent if ``download``."""
    if entry.format == "embedded":
        train, test = load_digits()
    else:
        if missing(entry, directory):
            if entry.sources and not download:
                raise DownloadError(
                    f"{entry.name} is not in {directory}; 'sffa data fetch {entry.name}' gets it"
                )
            fetch(entry, directory)
        train, test = read_splits(entry, directory)
    mean, std = entry.moments or moments(train.x)
    verified = verified_by(entry, directory)
    return Dataset(entry.name, train, test, entry.class_names, mean, std, verified)
