"""Tables: CSV and Parquet files that are damaged, ragged, oddly typed or hostile."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import damaged
from fuzz.surface import Surface
from sffa.data import from_table

_CELLS = (
    "",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1_0",
    "a",
    "é",
    '"',
    "\0",
    "2020-01-01",
    "9" * 400,
)
_NAMES = ("label", "x", "", "label", "1", "a,b", "é", "x" * 300)


def _csv(rng: Random, path: Path) -> None:
    names = ["label", *(f"c{n}" for n in range(rng.randrange(1, 5)))]
    rows = [
        [rng.choice("abc"), *(f"{rng.gauss(0, 1):.3f}" for _ in names[1:])]
        for _ in range(rng.choice((0, 1, 3, 12, 12, 12)))
    ]
    for _ in range(rng.choice((0, 1, 1, 2))):
        if rows:
            row = rng.choice(rows)
            row[rng.randrange(len(row))] = rng.choice(_CELLS)
    if rng.random() < 0.2:
        names[rng.randrange(len(names))] = rng.choice(_NAMES)
    if rng.random() < 0.2 and rows:
        rng.choice(rows).append("more")
    with path.open("w", newline="", encoding=rng.choice(("utf-8", "utf-8", "utf-16"))) as file:
        writer = csv.writer(file, delimiter=rng.choice(",,,;\t"))
        writer.writerow(names)
        writer.writerows(rows)


def _parquet(rng: Random, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    rows = rng.choice((0, 2, 12, 12))
    kinds = ("f4", "f8", "i8", "u1", "?", "U3", "M8[s]", "O", "m8[s]", "f2")
    columns: dict[str, object] = {"label": [rng.choice("abc") for _ in range(rows)]}
    for number in range(rng.randrange(1, 4)):
        values = np.array([rng.randrange(100) for _ in range(rows)]).astype(rng.choice(kinds))
        cells = values.tolist()
        if cells and rng.random() < 0.3:
            cells[0] = rng.choice((None, b"a", [1], {"a": 1}))
        columns[f"c{number}"] = cells
    try:
        table = pyarrow.table(columns)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        table = pyarrow.table({"label": ["a", "b"], "x": [1, 2]})
    pyarrow.parquet.write_table(table, path, compression=rng.choice(("none", "snappy", "gzip")))


def make(rng: Random, folder: Path) -> Path:
    """Write a table, and damage every third."""
    path = folder / rng.choice(("t.csv", "t.csv", "t.tsv", "t.parquet"))
    (_parquet if path.suffix == ".parquet" else _csv)(rng, path)
    if rng.random() < 0.35:
        path.write_bytes(damaged(rng, path.read_bytes()))
    return path


def read(path: Path) -> None:
    """Make a dataset of the table."""
    data = from_table(path, "label")
    assert np.isfinite(data.train.x).all()
    assert data.train.y.max() < data.classes


SURFACE = Surface(make, read)
