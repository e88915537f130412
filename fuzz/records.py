"""JSON records from anywhere, read and reported."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import matplotlib

from fuzz.csv_file import sound
from fuzz.mutate import damaged, odd
from fuzz.surface import Surface
from sffa.report.cells import cells
from sffa.report.markdown import write_markdown
from sffa.report.page_data import page_data
from sffa.study import read_records

matplotlib.get_configdir(), matplotlib.get_cachedir()  # made when first asked for


def make(rng: Random, folder: Path) -> Path:
    """Write a file of records, one or several, changed or damaged."""
    records = [odd(rng, record.to_json()) for record in sound()[: rng.choice((1, 2, 3))]]
    lines = rng.random() < 0.3
    text = (
        "\n".join(map(json.dumps, records))
        if lines
        else json.dumps(
            rng.choice(
                (
                    records,
                    records,
                    records[0],
                    {"static": records},
                    odd(rng, {"continual": records}),
                )
            )
        )
    )
    text = rng.choice((text,) * 20 + ("[" * 5000, "9" * 5000))
    path = folder / ("r.jsonl" if lines else "r.json")
    blob = text.encode(errors="surrogatepass")
    path.write_bytes(damaged(rng, blob) if rng.random() < 0.25 else blob)
    return path


def read(path: Path) -> None:
    """Read the records, gather them into cells, and write the data of the page and Markdown."""
    records = read_records(path)
    page_data(records)
    cells(records)
    if path.stat().st_size % 8 == 0:
        write_markdown(path.with_name("r.md"), records)


SURFACE = Surface(make, read)
