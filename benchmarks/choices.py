"""What the scripts that choose settings share: held-out data, choices in words, rows as they come.

The test split is not looked at: a tenth of each class's training examples takes its place. Seeds
are none of those that results are reported for. Each line of a file is one run; what is there
already is not run again.
"""

from __future__ import annotations

import argparse
import ast
import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sffa.data import Dataset, load
from sffa.study.threads import limit


def held_out(name: str, seed: int) -> Dataset:
    """Return a dataset whose test split is a tenth of each class's training examples.

    It is drawn by hand, as it was for the files that are there, and not by `sffa.splits.hold_out`.
    """
    data = load(name)
    rng = np.random.default_rng(seed)
    places = [rng.permutation(np.flatnonzero(data.train.y == c)) for c in range(data.classes)]
    held = np.sort(np.concatenate([p[: len(p) // 10] for p in places]))
    kept = np.setdiff1d(np.arange(len(data.train.y)), held)
    cut = [replace(data.train, x=data.train.x[p], y=data.train.y[p]) for p in (kept, held)]
    return replace(data, train=cut[0], test=cut[1])


def values_of(choice: str) -> dict[str, Any]:
    """Return the options of a choice such as ``gaussian.parts=10,network.k=20,lr=2e-3``."""
    values: dict[str, Any] = {}
    for pair in filter(None, choice.split(",")):
        name, _, given = pair.partition("=")
        try:
            value = ast.literal_eval(given)
        except (ValueError, SyntaxError):
            value = given
        where, _, option = name.partition(".")
        if where == "network":
            values.setdefault("network", {})[option] = value
        elif option:
            values.setdefault("options", {})[name] = value
        else:
            values[name] = value
    return values


def try_all(
    parser: argparse.ArgumentParser,
    columns: Sequence[str],
    place: Sequence[str],
    do: Callable[[argparse.Namespace, str, int, str], list[str]],
) -> None:
    """Do every choice on every dataset and seed, and append a row for each.

    ``do`` takes the arguments, a dataset, a seed and a choice, and returns what follows ``place``,
    the columns that tell one run from another.
    """
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--try", dest="choices", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    limit(1)
    done = set()
    if asked.out.exists():
        with asked.out.open() as stream:
            done = {tuple(row[name] for name in place) for row in csv.DictReader(stream)}
    with asked.out.open("a", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if not stream.tell():
            writer.writerow(columns)
        for choice in dict.fromkeys(asked.choices or [""]):
            for seed in asked.seeds:
                for name in asked.dataset:
                    known = {**vars(asked), "dataset": name, "choice": choice, "seed": str(seed)}
                    which = tuple(known[column] for column in place)
                    if which in done:
                        continue
                    row = [*which, *do(asked, name, seed, choice)]
                    writer.writerow(row)
                    stream.flush()
                    print(*row, flush=True)
