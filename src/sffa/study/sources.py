"""Records wherever they are kept, and whether the datasets of runs are at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sffa.data import load
from sffa.errors import SFFAError
from sffa.study.configuration import Run
from sffa.study.csv_file import import_csv
from sffa.study.record import Record
from sffa.study.store import Store


def read_records(path: str | os.PathLike[str]) -> list[Record]:
    """Read the records of a CSV (by its ending) or of a store."""
    if Path(path).suffix.lower() == ".csv":
        return import_csv(path)
    with Store(path, readonly=True) as store:
        return store.records()


def unavailable(runs: Iterable[Run]) -> dict[str, str]:
    """Give the datasets of runs that can neither be read nor fetched, each with the reason.

    Done once, before workers start: they find the files in place, and a dataset that cannot be
    had costs one attempt rather than one for each run.
    """
    names = dict.fromkeys(str(run.values["dataset"]) for run in runs)
    missing = {}
    for name in names:
        try:
            load(name)
        except SFFAError as error:
            missing[name] = str(error)
    return missing
