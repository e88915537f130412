"""What the ideas in examples/ come to on the embedded digits: a CSV and a figure.

python benchmarks/examples.py --out results/examples.csv --figure results/figures/examples.svg
"""

from __future__ import annotations

import argparse
import csv
import importlib
import statistics
import sys
from pathlib import Path

import torch

from sffa.files import replacing

FOLDER = Path(__file__).parents[1] / "examples"
OTHERS = ("common", "optuna_search")  # what the ideas share; a search of its own
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in OTHERS)


def measure(seeds: range) -> list[dict[str, object]]:
    """Run every example with every seed."""
    rows: list[dict[str, object]] = []
    for name in NAMES:
        main = importlib.import_module(name).main
        for seed in seeds:
            for variant, accuracy in main(seed).items():
                row = {"example": name, "variant": variant, "seed": seed, "acc": accuracy}
                rows.append(row)
                print(name, variant, seed, f"{accuracy:.2f}", flush=True)
    return rows


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """Draw the mean and the standard error of every variant, the examples one below another."""
    from matplotlib.figure import Figure

    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        key = str(row["example"]), str(row["variant"])
        groups.setdefault(key, []).append(float(str(row["acc"])))
    figure = Figure(figsize=(7.0, 0.28 * len(groups) + 1.0), layout="constrained")
    axes = figure.subplots()
    means = [statistics.fmean(values) for values in groups.values()]
    errors = [
        statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
        for values in groups.values()
    ]
    colours = ["#0072b2" if NAMES.index(name) % 2 else "#e69f00" for name, _ in groups]
    places = range(len(groups))
    axes.barh(places, means, xerr=errors, color=colours, height=0.7)
    axes.set_yticks(places, [f"{name}: {variant}" for name, variant in groups], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy over all experiences at the end, %; mean ± standard error")
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], metadata={"Date": None})


def main() -> None:
    """Run the examples, and write what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    sys.path.insert(0, str(FOLDER))
    rows = measure(range(given.seeds))
    if given.out:
        with replacing(given.out) as temporary, open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, ["example", "variant", "seed", "acc"])
            writer.writeheader()
            writer.writerows(rows)
    if given.figure:
        draw(rows, given.figure)


if __name__ == "__main__":
    main()
