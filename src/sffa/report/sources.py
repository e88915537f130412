"""Records wherever they are kept: a store, a CSV of a study, JSON, or a folder of these."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sffa.errors import DataError
from sffa.report.drawing import Drawing
from sffa.report.svg import read as read_drawing
from sffa.study.record import Record
from sffa.study.sources import read_records

DEFAULTS = (Path("runs"), Path("results"))
_Found = list[Mapping[str, Any] | Record]


def gather(paths: Iterable[str | os.PathLike[str]]) -> _Found:
    """Read the records of all files and folders, in the order given.

    With none given, of the folder ``runs``, where commands leave what was run, or else of
    ``results``. Of a folder only what holds records is read; other files may lie there too.
    """
    places = [Path(path) for path in paths]
    if places:
        found = [record for place in places for record in _at(place)]
    else:
        found = next((read for place in DEFAULTS if (read := _of_folder(place))), [])
    if not found:
        named = " or ".join(str(place) for place in places or DEFAULTS)
        raise DataError(f"nothing to report: no records in {named}")
    return found


def _at(place: Path) -> _Found:
    if place.is_dir():
        return _of_folder(place)
    if not place.is_file():
        raise DataError(
            f"no records at {place}; expected a store, a .csv, .json or .jsonl file, or a folder"
        )
    kind = place.suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        return list(_lines(place))
    return list(_objects(place)) if kind == ".json" else list(read_records(place))


def _of_folder(folder: Path) -> _Found:
    found: _Found = []
    for file in sorted(folder.glob("*")):
        if file.suffix == ".sqlite" or (file.suffix == ".csv" and _of_a_study(file)):
            found += read_records(file)
        elif file.suffix == ".json":
            found += [record for record in _objects(file) if {"scenario", "metrics"} <= {*record}]
    return found


def _objects(file: Path) -> list[Mapping[str, Any]]:
    """Read what ``--json`` prints: a record, or a list of them."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{file} is not JSON: {error}") from None
    records = content if isinstance(content, list) else [content]
    return [record for record in records if isinstance(record, dict)]


def _of_a_study(file: Path) -> bool:
    """Tell by the first columns, which every version of a study's CSV has."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        return stream.readline().startswith("dataset,scenario,method,algorithm,seed,acc,fgt,fwt")


def findings(folder: Path) -> str:
    """Read what people made of the results, if they wrote it down beside them."""
    file = folder / "findings.md"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def drawings(folder: str | os.PathLike[str]) -> list[Drawing]:
    """Read the figures that ``sffa analyze`` wrote into a folder."""
    place = Path(folder)
    if not place.is_dir():
        raise DataError(f"no folder of figures at {place}; 'sffa analyze' writes one")
    return [read_drawing(path) for path in sorted(place.glob("*.svg"))]


def _lines(file: Path) -> list[Mapping[str, Any]]:
    records: list[Mapping[str, Any]] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError(f"{file}, line {number}: not JSON: {error}") from None
        if not isinstance(record, dict):
            raise DataError(f"{file}, line {number}: expected an object, got {line[:40]!r}")
        records.append(record)
    return records
