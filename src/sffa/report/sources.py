"""Records wherever they are kept: a store, a CSV of a study, or JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sffa.errors import DataError
from sffa.report.drawing import Drawing
from sffa.report.vector import read as read_drawing
from sffa.study.record import Record
from sffa.study.sources import read_records

RESULTS = Path("results")


def gather(paths: Iterable[str | os.PathLike[str]]) -> list[Mapping[str, Any] | Record]:
    """Read the records of all files, in the order given; with none, of ``results/*.csv``.

    Of ``results`` only the files of studies are read; other measurements lie there too.
    """
    files = [Path(path) for path in paths]
    files = files or [file for file in sorted(RESULTS.glob("*.csv")) if _of_a_study(file)]
    if not files:
        raise DataError(
            "nothing to report: give a store, a .csv or a .jsonl file, or have results/*.csv here"
        )
    found: list[Mapping[str, Any] | Record] = []
    for file in files:
        if not file.is_file():
            raise DataError(f"no records at {file}; expected a store, a .csv or a .jsonl file")
        found += (
            _lines(file) if file.suffix.lower() in (".jsonl", ".ndjson") else read_records(file)
        )
    return found


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
