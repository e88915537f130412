"""How long the prediction of one row takes, through the network and the classifier.

python benchmarks/latency.py --out results/latency.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from sffa.files import write_text
from sffa.integrations.sklearn import SFFAClassifier


def median_ms(call: Callable[[], object], calls: int = 2000) -> float:
    """Return the median of what calls take, the first fifty apart."""
    taken = []
    for _ in range(calls + 50):
        before = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - before))
    return statistics.median(taken[50:])


def main() -> None:
    """Fit both classifiers to the digits a little, and time a row of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    x, y = load_digits(return_X_y=True)
    ours = SFFAClassifier(hidden=(400, 400), epochs=2).fit(x, y)
    theirs = MLPClassifier((400, 400), max_iter=5).fit(x, y)
    network, row = ours.network_, x[:1].astype("float32")
    result = {
        "threads": torch.get_num_threads(),
        "row_ms": {
            "Network.predict": median_ms(lambda: network.predict(row)),
            "SFFAClassifier.predict": median_ms(lambda: ours.predict(x[:1])),
            "MLPClassifier.predict": median_ms(lambda: theirs.predict(x[:1])),
        },
    }
    text = json.dumps(result, indent=1)
    print(text)
    if asked.out is not None:
        write_text(asked.out, text + "\n")


if __name__ == "__main__":
    main()
