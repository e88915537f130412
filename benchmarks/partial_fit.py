"""Measure SFFAClassifier.partial_fit: what is remembered, what is kept, and what a call takes.

    python benchmarks/partial_fit.py [--calls 10000] [--continual gaussian,gem] [--orders 5]
                                     [--out results/partial_fit.csv]

Two measurements, both with everything else at its default:

digits   The ten classes of digits one after the other, one call each, in five orders; 30 % of the
         examples, stratified, are the test. `value` is the accuracy over all ten in percent.
calls    A stream of single rows, drawn at random from digits, after a first call with one row. For
         the first hundred calls, the tenth hundred and the last: the median of the milliseconds
         (processor time) a call takes, the megabytes that the classifier keeps (a pickle of it; a
         buffer of examples fills in the first hundreds of calls), and those of the process. Beside
         them scikit-learn's MLPClassifier with layers of the same width, which is told all classes
         and forgets.

Rows that the file holds already are kept; --again measures them anew.
"""

from __future__ import annotations

import argparse
import csv
import io
import pickle
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

import sffa
from sffa.continual import METHODS
from sffa.files import write_text
from sffa.integrations import defaults
from sffa.kernels import warm_up

Row = dict[str, Any]
BASELINE = "MLPClassifier"
SINGLE = [*(name for name in METHODS if name != "joint"), BASELINE]
REMEMBERED = ("gaussian", "replay", "gem")


def remembered(continual: str, order: int) -> Row:
    """Learn one class after the other; the accuracy over all of them."""
    x, y = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=order)
    classifier = sffa.SFFAClassifier(continual=continual, random_state=order)
    for label in np.random.default_rng(order).permutation(10):
        classifier.partial_fit(x[y == label], y[y == label])
    return {
        "measure": "digits",
        "continual": continual,
        "what": f"order {order}",
        "value": round(100 * classifier.score(x_test, y_test), 2),
    }


def called(continual: str, calls: int) -> Iterator[Row]:
    """Learn single rows; what the first and the last hundred take, and what is kept then."""
    x, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).integers(len(x), size=calls)
    classifier: Any = sffa.SFFAClassifier(continual=continual, random_state=0)
    classes = None
    if continual == BASELINE:
        width = defaults.hidden_for(x.shape[1])
        classifier, classes = MLPClassifier(width, random_state=0), np.unique(y)
    times = []
    for number, row in enumerate(rows, 1):
        started = time.process_time()
        classifier.partial_fit(x[row : row + 1], y[row : row + 1], classes=classes)
        times.append(1000 * (time.process_time() - started))
        if number not in (100, 1000, calls):
            continue
        found = {
            "ms": float(np.median(times[-100:])),
            "kept_mb": len(pickle.dumps(classifier)) / 2**20,
            "process_mb": resident(),
        }
        for what, value in found.items():
            yield {
                "measure": "calls",
                "continual": continual,
                "what": f"{what} {number}",
                "value": round(value, 3),
            }


def resident() -> float:
    """Return the megabytes that the process holds; where that is unknown, the most it has held."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmRSS:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def read(path: Path) -> list[Row]:
    """Return the rows of a file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[Row]) -> None:
    """Write rows; of those that measure the same, the last."""
    latest = {(row["measure"], row["continual"], row["what"]): row for row in rows}
    text = io.StringIO()
    writer = csv.DictWriter(text, ["measure", "continual", "what", "value"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(latest.values())
    write_text(path, text.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--continual", help="names joined by commas; all unless given")
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="measure rows that are there too")
    parser.add_argument("--out", type=Path, default=Path("results/partial_fit.csv"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    threadpool_limits(1)  # NumPy's, which the baseline has
    warm_up()
    names = SINGLE if options.continual is None else options.continual.split(",")
    rows = read(options.out)
    there = {(row["measure"], row["continual"], row["what"]) for row in rows if not options.again}
    for continual in names:
        for order in range(options.orders if continual in REMEMBERED else 0):
            if ("digits", continual, f"order {order}") not in there:
                rows.append(remembered(continual, order))
                print(rows[-1], flush=True)
                write(options.out, rows)
        if options.calls and ("calls", continual, f"ms {options.calls}") not in there:
            rows += called(continual, options.calls)
            print(*rows[-9:], sep="\n", flush=True)
            write(options.out, rows)


if __name__ == "__main__":
    main()
