"""The user's own examples as a table: CSV, or Parquet with the extra ``tables``.

One column is the label. Columns of numbers are features; a column of few different texts becomes
one feature for each of them (one-hot); whatever else stands in a column is refused by its name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sffa.data.arrays import from_arrays
from sffa.data.dataset import Array, Dataset
from sffa.data.limits import check_size
from sffa.errors import ConfigurationError, DataError, SFFAError, nearest
from sffa.files import PathLike, reading

CATEGORIES = 50
"""Different texts that a column may hold and still count as categories."""
SUFFIXES = (".csv", ".tsv", ".parquet")
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))
_DATE = re.compile(r"\s*\d{4}[-/.]\d{1,2}[-/.]\d{1,2}")
_ROWS = 4096
_COLUMNS = 100_000


def from_table(path: PathLike, target: str, *, name: str | None = None) -> Dataset:
    r"""Read a .csv, .tsv or .parquet file whose column ``target`` holds the labels.

    Missing values, dates and texts of more than `CATEGORIES` kinds are refused by the name of
    their column. A fifth of the examples is put aside for testing.

    >>> from pathlib import Path
    >>> path = Path("mine.csv")
    >>> lines = [f"{n},{n * n},{'even' if n % 2 == 0 else 'odd'}" for n in range(20)]
    >>> written = path.write_text("\n".join(["n,square,kind", *lines]))
    >>> data = from_table(path, "kind")
    >>> data, data.class_names
    (Dataset('mine', 16 train, 4 test, shape (2,), 2 classes), ('even', 'odd'))
    """
    where = Path(path)
    columns = _parquet(where) if where.suffix.lower() == ".parquet" else _csv(where)
    if target not in columns:
        some = ", ".join(list(columns)[:12])[:200]
        raise DataError(
            f"{where}: no column {target!r}{nearest(target, list(columns))} (it has {some})"
        )
    labels = columns.pop(target)
    if not columns:
        raise DataError(f"{where}: no column beside {target!r} to learn from")
    _check_present(labels, f"{where}: column {target!r}")
    size = sum(8 * len(labels) * _width(values) for values in columns.values())
    check_size(size, where.stat().st_size, where)
    features = [_features(values, f"{where}: column {key!r}") for key, values in columns.items()]
    return from_arrays(np.concatenate(features, axis=1), labels, name=name or where.stem)


def _width(values: Array) -> int:
    return 1 if values.dtype.kind == "f" else min(len(np.unique(values)), CATEGORIES + 1)


def _features(values: Array, what: str) -> Array:
    """Return a column as features (N, 1), or one for each category."""
    _check_present(values, what)
    if values.dtype.kind == "f":
        most = float(np.abs(values).max(initial=0))
        if np.isfinite(most) and most > float(np.finfo(np.float32).max):
            raise DataError(f"{what} holds {most:g}, more than numbers of 32 bits can be")
        return values.astype(np.float32)[:, None]
    first = str(values[0])[:40]
    if _DATE.match(first):
        raise DataError(
            f"{what} holds dates ({first!r}), expected numbers; turn them into some, such as days "
            "since a date, hour and weekday"
        )
    kinds, place = np.unique(values, return_inverse=True)
    if len(kinds) > CATEGORIES:
        raise DataError(
            f"{what} holds {len(kinds):,} different texts ({first!r}), and at most {CATEGORIES} "
            "count as categories; drop it, or turn it into numbers"
        )
    return np.eye(len(kinds), dtype=np.float32)[place]


def _check_present(values: Array, what: str) -> None:
    missing = np.isnan(values) if values.dtype.kind == "f" else values == ""
    if missing.any():
        raise DataError(
            f"{what} has {int(missing.sum()):,} missing values, first in row "
            f"{int(np.argmax(missing))}; fill them, or drop these rows"
        )


def _csv(path: Path) -> dict[str, Array]:
    """Read the columns of a CSV file: float64 where all are numbers, else text; missing as ``""``.

    The file is gone through twice: to see which columns are numbers, and to read them.
    """
    try:
        with reading(path) as file:
            names = next(_rows(file, path), [])
            _check_names(names, path)
            numbers = np.ones(len(names), bool)
            for _, chunk in _chunks(file, path, len(names)):
                numbers &= [_as_numbers(column) is not None for column in chunk]
            found: list[list[Array]] = [[] for _ in names]
            for _, chunk in _chunks(file, path, len(names)):
                for column, parts, number in zip(chunk, found, numbers, strict=True):
                    values = _as_numbers(column) if number else _as_text(column)
                    parts.append(np.asarray(values))
    except (csv.Error, UnicodeError) as error:
        told = " ".join(str(error).split())[:160]
        raise DataError(f"{path}: not a table as CSV in UTF-8 ({told})") from None
    if not found[0]:
        raise DataError(f"{path}: no rows below the names of the columns")
    return {name: np.concatenate(parts) for name, parts in zip(names, found, strict=True)}


def _rows(file: Any, path: Path) -> Iterator[list[str]]:
    """Yield the rows of a CSV file from its beginning; the first line tells what separates them."""
    file.seek(0)
    text = io.TextIOWrapper(io.BufferedReader(_Kept(file)), encoding="utf-8-sig", newline="")
    head = text.readline(1 << 20)
    separators = "\t" if path.suffix.lower() == ".tsv" else ",;\t|"
    separator = max(separators, key=head.count)
    file.seek(0)
    text = io.TextIOWrapper(io.BufferedReader(_Kept(file)), encoding="utf-8-sig", newline="")
    return (row for row in csv.reader(text, delimiter=separator, strict=True) if row)


class _Kept(io.RawIOBase):
    """A file that stays open when what reads it is gone."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)


def _chunks(file: Any, path: Path, width: int) -> Iterator[tuple[int, list[tuple[str, ...]]]]:
    """Yield columns of some thousand rows at a time, with the number of rows before them."""
    rows = _rows(file, path)
    next(rows)
    done = 0
    while chunk := list(islice(rows, _ROWS)):
        for number, row in enumerate(chunk, done):
            if len(row) != width:
                raise DataError(f"{path}: row {number} has {len(row)} cells, expected {width}")
        yield done, list(zip(*chunk, strict=True))
        done += len(chunk)


def _check_names(names: list[str], path: Path) -> None:
    if not names or len(names) > _COLUMNS:
        raise DataError(f"{path}: {len(names):,} columns, expected 1 to {_COLUMNS:,}")
    seen: set[str] = set()
    twice = next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise DataError(f"{path}: two columns are called {twice[:80]!r}")
    if all(_as_numbers((name,)) is not None for name in names):
        raise DataError(f"{path}: the first line must name the columns, it holds numbers")


def _as_numbers(cells: tuple[str, ...]) -> Array | None:
    """Return cells as numbers, missing ones as NaN; None if some are text or infinite."""
    try:
        numbers = np.array([np.nan if _is_missing(cell) else float(cell) for cell in cells])
    except ValueError:
        return None
    return None if np.isinf(numbers).any() else numbers


def _as_text(cells: tuple[str, ...]) -> Array:
    return np.array(["" if _is_missing(cell) else cell.strip() for cell in cells])


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def _parquet(path: Path) -> dict[str, Array]:
    """Read the columns of a Parquet file, sizes first."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ConfigurationError(
            "Parquet needs pyarrow; install it with pip install 'sffa[tables]'"
        ) from None
    with reading(path) as file:
        stored = file.seek(0, 2)
        file.seek(0)
        try:
            with parquet.ParquetFile(file) as table:
                about = table.metadata
                groups = [about.row_group(n).total_byte_size for n in range(about.num_row_groups)]
                check_size(max(sum(groups), 8 * about.num_rows * about.num_columns), stored, path)
                names = list(table.schema_arrow.names)
                _check_names(names, path)
                columns = table.read(use_threads=False)
                return {name: _arrow(columns.column(name), path, name) for name in names}
        except (SFFAError, MemoryError):
            raise
        except Exception as error:  # arrow has kinds of its own for every trouble
            told = " ".join(str(error).split())[:160] or type(error).__name__
            raise DataError(f"{path}: not a sound Parquet file ({told})") from None


def _arrow(column: Any, path: Path, name: str) -> Array:
    """Return a column of arrow as numbers, or as text with ``""`` for what is missing."""
    kind = str(column.type)
    if kind.startswith(("date", "time", "duration")):
        raise DataError(
            f"{path}: column {name!r} holds dates or times ({kind}), expected numbers; turn them "
            "into some, such as days since a date, hour and weekday"
        )
    if kind.startswith(("int", "uint", "float", "double", "half", "bool")):
        numbers = [np.nan if value is None else float(value) for value in column.to_pylist()]
        return np.array(numbers, np.float64)
    if kind.startswith(("string", "large_string", "dictionary")):
        return np.array([str(value or "").strip() for value in column.to_pylist()])
    raise DataError(f"{path}: column {name!r} holds {kind[:80]}, expected numbers or text")
