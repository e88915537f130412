"""Records wherever they are kept: a store, a CSV of a study, JSON, or a folder of these."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sffa.errors import DataError, SFFAError
from sffa.files import read_text, reading
from sffa.record import Record
from sffa.study.store.csv_file import import_csv
from sffa.study.store.store import Store
from sffa.study.upgrade import from_json

RESULTS = Path("results")
DEFAULTS = (Path("runs"), RESULTS)
# What `sffa demo --json` prints its records under.
_LISTS = ("static", "continual")
_Objects = list[Mapping[str, Any]]


def gather(paths: Iterable[str | os.PathLike[str]]) -> list[Record]:
    """Read the records of all files and folders, in the order given.

    With none given, of the folder ``runs``, where commands leave what was run, or else of
    ``results``. Of a folder only what holds records is read; other files may lie there too.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> from sffa.study import export_csv
    >>> count = export_csv("one.csv", [record]), export_csv("two.csv", [record])
    >>> len(gather(["one.csv", "two.csv"]))
    2
    """
    places = [Path(path) for path in paths]
    for place in places:
        if not _exists(place):
            raise DataError(
                f"no records at {place}; expected a store, a .csv, .json or .jsonl file, or a "
                "folder"
            )
    if places:
        found = [record for place in places for record in read_records(place)]
    else:
        found = next((read for place in DEFAULTS if (read := _of_folder(place))), [])
    if not found:
        named = " or ".join(str(place) for place in places or DEFAULTS)
        raise DataError(f"nothing to report: no records in {named}")
    return found


def committed() -> list[Record]:
    """Return the records of the folder ``results``; none if it is not there or cannot be read."""
    try:
        return _of_folder(RESULTS)
    except (SFFAError, OSError):
        return []


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # no path at all: too long, or with a zero byte
        return False


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read the records of a folder, or of a file by its ending: CSV, JSON, else a store.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> from sffa.study import export_csv
    >>> count = export_csv("runs.csv", [record])
    >>> [each.scenario for each in read_records("runs.csv")]
    ['class']
    """
    place = Path(path)
    if place.is_dir():
        return _of_folder(place)
    kind = place.suffix.lower()
    if kind == ".csv":
        return import_csv(place)
    if kind in (".jsonl", ".ndjson"):
        return [from_json(record) for record in _lines(place)]
    if kind == ".json":
        return [from_json(record) for item in _objects(place) for record in _unwrapped(item)]
    with Store(place, readonly=True) as store:
        return store.records()


def _of_folder(folder: Path) -> list[Record]:
    found: list[Record] = []
    for file in sorted(folder.glob("*")):
        if file.suffix == ".sqlite" or (file.suffix == ".csv" and _of_a_study(file)):
            found += read_records(file)
        elif file.suffix == ".json":
            objects = _objects(file)
            found += [from_json(item) for item in objects if {"scenario", "metrics"} <= {*item}]
    return found


def _of_a_study(file: Path) -> bool:
    """Whether the first columns are those that every version of a study's CSV has."""
    if not file.is_file():
        return False
    columns = b"dataset,scenario,method,algorithm,seed,acc,fgt,fwt"
    with reading(file) as stream:
        return stream.read(len(columns)) == columns


def _objects(file: Path) -> _Objects:
    """Read what ``--json`` prints: a record, or a list of them."""
    try:
        content = _loaded(read_text(file))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is not JSON: {error}") from None
    records = content if isinstance(content, list) else [content]
    return [record for record in records if isinstance(record, dict)]


def _unwrapped(item: Mapping[str, Any]) -> _Objects:
    lists = [item[name] for name in _LISTS if isinstance(item.get(name), list)]
    return [record for records in lists for record in records] if lists else [item]


def _lines(file: Path) -> _Objects:
    records: _Objects = []
    for number, line in enumerate(read_text(file).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = _loaded(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file}, line {number}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(f"{file}, line {number}: expected an object, got {line[:40]!r}")
        records.append(record)
    return records


def _loaded(text: str) -> Any:
    """Read JSON; an escape for half a letter, which no file can hold, is a ``ValueError``."""
    value = json.loads(text)
    if "\\ud" in text.lower():
        json.dumps(value, ensure_ascii=False).encode()
    return value
