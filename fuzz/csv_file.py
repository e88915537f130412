"""CSV files of studies: damaged text, and cells of other types under a right hash."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutate import ODD, damaged, odd
from fuzz.surface import Surface
from sffa.record import Record, config_hash
from sffa.study import Store, export_csv, import_csv
from sffa.study.configuration import parse


@cache
def sound() -> tuple[Record, ...]:
    """Return the records of three small runs."""
    found = []
    for seed in range(3):
        run = parse({"scenario": "class", "dataset": "split-digits", "seed": seed, "hidden": [40]})
        details = {"matrix": [[1.0, 2.0]], "curve": [1.0], "experiences": [{"classes": [0]}]}
        metrics = {"acc": 50.0 + seed, "fgt": 1.0, "other": 2.0}
        found.append(
            Record(
                *run.cell,
                seed=seed,
                config=run.values,
                metrics=metrics,
                details={**details, "more": seed},
                started="x",
                finished="y",
            )
        )
    return tuple(found)


def cell(rng: Random, text: str) -> str:
    """Return another cell: JSON changed inside, something odd, or damaged text."""
    what = rng.random()
    if what < 0.4 and text.startswith(("{", "[")):
        with contextlib.suppress(ValueError, RecursionError):  # changed before, and no JSON now
            return json.dumps(odd(rng, json.loads(text)))
    if what < 0.8:
        value: Any = rng.choice(ODD)
        return value if isinstance(value, str) else json.dumps(value)
    return rng.choice(("[" * 5000, "nan", "inf", "1_0", "9" * 5000, text * 2, "\0", "\u0663"))


def make(rng: Random, folder: Path) -> Path:
    """Write a CSV with some cells changed, in half of the cases under a hash that fits."""
    import csv

    path = folder / "s.csv"
    export_csv(path, sound())
    if rng.random() < 0.3:
        path.write_bytes(damaged(rng, path.read_bytes()))
        return path
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for _ in range(rng.choice((1, 1, 2, 4))):
        row = rng.choice(rows)
        name = rng.choice(list(row))
        row[name] = cell(rng, row[name])
    for row in rows:
        with contextlib.suppress(ValueError, AttributeError, RecursionError):
            row["config_hash"] = config_hash(json.loads(row["config"]))
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as stream:
        try:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        except UnicodeEncodeError:
            stream.write("dataset")
    return path


def read(path: Path) -> None:
    """Take the records into a store, and out again."""
    records = import_csv(path)
    with Store(path.with_suffix(".sqlite")) as store:
        store.add(records)
        export_csv(path.with_name("again.csv"), store.records())


SURFACE = Surface(make, read)
