"""One study as one CSV: to commit, to compare, to go on with elsewhere."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable

from sffa.files import reading, write_text
from sffa.record import COLUMNS, INTEGERS, REALS, SCHEMA, Record, Value
from sffa.study.errors import StudyError
from sffa.study.upgrade import READABLE, from_cells, present_columns

_LONGEST = 2**24


def export_csv(path: str | os.PathLike[str], records: Iterable[Record]) -> int:
    """Write records, whole or not at all, and return how many; numbers read back as they were.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> export_csv("runs.csv", [record])
    1
    >>> import_csv("runs.csv")[0].metrics == record.metrics
    True
    """
    rows = [record.cells() for record in records]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    careful = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in rows:
        cells = [_written(value) for value in row.values()]
        # Of line ends, the plain writer quotes only the one it writes itself.
        (careful if any("\r" in cell for cell in cells) else writer).writerow(cells)
    try:
        write_text(path, text.getvalue())
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error
    return len(rows)


def import_csv(path: str | os.PathLike[str]) -> list[Record]:
    """Read records that `export_csv` wrote; all of them, or an error that names the line.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> count = export_csv("runs.csv", [record])
    >>> [each.method for each in import_csv("runs.csv")]
    ['naive']
    """
    csv.field_size_limit(_LONGEST)
    try:
        with (
            reading(path, StudyError) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="") as stream,
        ):
            reader = csv.DictReader(stream)
            _check_header(path, list(reader.fieldnames or []))
            return [_record(path, reader.line_num, row) for row in reader]
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path} is not a CSV of a study: {error}") from error


def _check_header(path: str | os.PathLike[str], names: list[str]) -> None:
    missing = [name for name in COLUMNS if name not in present_columns(dict.fromkeys(names))]
    if missing:
        raise StudyError(
            f"{path} is not a CSV of a study that this version reads (format {SCHEMA}): "
            f"column '{missing[0]}' is missing; export it again with the version that made it"
        )


def _record(path: str | os.PathLike[str], line: int, row: dict[str, str]) -> Record:
    if row["schema"] not in map(str, READABLE):
        raise StudyError(
            f"{path}, line {line}: format {str(row['schema'] or '?')[:20]} (written by sffa "
            f"{str(row['version'] or '?')[:20]}), this version reads format {SCHEMA}; use that "
            "version of sffa, or run the study again"
        )
    try:
        if row["status"] not in ("done", "failed"):
            raise ValueError(f"status '{str(row['status'])[:20]}'")
        texts = present_columns(row)
        record = from_cells({name: _read(name, texts[name]) for name in COLUMNS})
        record.cells()  # whatever could not be written again is no record
        return record
    except (ValueError, TypeError, RecursionError) as error:
        said = " ".join(str(error).split())[:300]
        raise StudyError(f"{path}, line {line}: not a record: {said}") from error


def _written(value: Value) -> str:
    """Write a cell; of a number the shortest text that reads back as the same number."""
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _read(name: str, text: str | None) -> Value:
    if not text:
        return None
    return int(text) if name in INTEGERS else float(text) if name in REALS else text
