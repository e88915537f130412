"""The user's own examples as a table: CSV, or Parquet with the extra ``tables``.

One column is the label. Columns of numbers are features; a column of few different texts becomes
one feature for each of them (one-hot); whatever else stands in a column is refused by its name.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from sffa.data.arrays import from_arrays
from sffa.data.dataset import Array, Columns, Dataset
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
    found = _read(where)
    labels = _column(found, target, where)
    _check_present(labels, f"{where}: column {target!r}")
    columns = tuple(
        (key, _categories(values, f"{where}: column {key!r}"))
        for key, values in found.items()
        if key != target
    )
    if not columns:
        raise DataError(f"{where}: no column beside {target!r} to learn from")
    x = _features(found, columns, where)
    return replace(from_arrays(x, labels, name=name or where.stem), columns=columns)


def table_features(path: PathLike, columns: Columns) -> Array:
    r"""Read a table as the features (N, d) that `from_table` made of the same ``columns``.

    Their order in the file does not matter, and others may stand beside them.

    >>> from pathlib import Path
    >>> written = Path("new.csv").write_text("colour,size\nred,2\nblue,3\n")
    >>> table_features("new.csv", (("size", None), ("colour", ("blue", "red")))).tolist()
    [[2.0, 0.0, 1.0], [3.0, 1.0, 0.0]]
    """
    where = Path(path)
    texts = frozenset(name for name, kinds in columns if kinds is not None)
    return _features(_read(where, texts), columns, where)


def _read(path: Path, texts: frozenset[str] = frozenset()) -> dict[str, Array]:
    """Read the columns of a file, some of them as text even where all of it is numbers."""
    return _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path, texts)


def _column(found: dict[str, Array], name: str, path: Path) -> Array:
    if name not in found:
        some = ", ".join(list(found)[:12])[:200]
        raise DataError(f"{path}: no column {name!r}{nearest(name, list(found))} (it has {some})")
    return found[name]


def _features(found: dict[str, Array], columns: Columns, path: Path) -> Array:
    """Return the columns as features: a number each, or one for each category."""
    rows = len(next(iter(found.values())))
    width = sum(1 if kinds is None else len(kinds) for _, kinds in columns)
    check_size(8 * rows * width, path.stat().st_size, path)
    parts = []
    for name, kinds in columns:
        values, what = _column(found, name, path), f"{path}: column {name!r}"
        _check_present(values, what)
        parts.append(_numbers(values, what) if kinds is None else _one_hot(values, kinds, what))
    return np.concatenate(parts, axis=1)


def _numbers(values: Array, what: str) -> Array:
    if values.dtype.kind != "f":
        raise DataError(f"{what} holds text ({str(values[0])[:40]!r}), expected numbers")
    most = float(np.abs(values).max(initial=0))
    if np.isfinite(most) and most > float(np.finfo(np.float32).max):
        raise DataError(f"{what} holds {most:g}, more than numbers of 32 bits can be")
    return values.astype(np.float32)[:, None]


def _one_hot(values: Array, kinds: tuple[str, ...], what: str) -> Array:
    if values.dtype.kind == "f":
        raise DataError(f"{what} holds numbers, expected one of {', '.join(kinds)[:200]}")
    unknown = ~np.isin(values, kinds)
    if unknown.any():
        raise DataError(
            f"{what} holds {str(values[unknown][0])[:40]!r}, expected one of "
            f"{', '.join(kinds)[:200]}"
        )
    one_hot: Array = (values[:, None] == np.array(kinds)).astype(np.float32)
    return one_hot


def _categories(values: Array, what: str) -> tuple[str, ...] | None:
    """Return the different texts of a column, None for numbers."""
    _check_present(values, what)
    if values.dtype.kind == "f":
        return None
    first = str(values[0])[:40]
    if _DATE.match(first):
        raise DataError(
            f"{what} holds dates ({first!r}), expected numbers; turn them into some, such as days "
            "since a date, hour and weekday"
        )
    kinds = np.unique(values).tolist()
    if len(kinds) > CATEGORIES:
        raise DataError(
            f"{what} holds {len(kinds):,} different texts ({first!r}), and at most {CATEGORIES} "
            "count as categories; drop it, or turn it into numbers"
        )
    return tuple(kinds)


def _check_present(values: Array, what: str) -> None:
    missing = np.isnan(values) if values.dtype.kind == "f" else values == ""
    if missing.any():
        raise DataError(
            f"{what} has {int(missing.sum()):,} missing values, first in row "
            f"{int(np.argmax(missing))}; fill them, or drop these rows"
        )


def _csv(path: Path, texts: frozenset[str]) -> dict[str, Array]:
    """Read the columns of a CSV file: float64 where all are numbers, else text; missing as ``""``.

    The file is gone through twice: to see which columns are numbers, and to read them.
    """
    try:
        with reading(path) as file:
            names = next(_rows(file, path), [])
            _check_names(names, path)
            numbers = np.array([name not in texts for name in names])
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
