"""What `sffa.kernels.products` gains: products of the sizes of training, by oneDNN and by MKL.

Each size is timed with both in turn, on one thread unless --threads says otherwise; a step of each
algorithm on 512 examples of the paper's size likewise.

python benchmarks/products.py [--threads 1] [--out results/products.json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sffa.core import Trainer, make
from sffa.environment import describe
from sffa.files import write_text
from sffa.kernels import products
from sffa.study.threads import limit

SIZES = ((32, 784, 200), (128, 784, 1400), (512, 784, 1400), (1024, 1400, 1400))
ALGORITHMS = ("sffa", "ffa", "bp")
ROUNDS = 15


def both(call: Callable[[], object]) -> dict[str, float]:
    """Return the median milliseconds of a call with each library, in turn."""
    has, taken = products.wide_only_in_onednn, {"onednn": [0.0], "mkl": [0.0]}
    for number in range(ROUNDS + 1):
        for name, times in taken.items():
            products.wide_only_in_onednn = lambda name=name: name == "onednn"  # type: ignore
            before = time.perf_counter()
            call()
            if number:
                times.append(1e3 * (time.perf_counter() - before))
    products.wide_only_in_onednn = has
    found = {name: statistics.median(times[1:]) for name, times in taken.items()}
    return {**found, "ratio": found["mkl"] / found["onednn"]}


def step(algorithm: str) -> Callable[[], object]:
    """Return a step of pairs, or of back-propagation, at the paper's size."""
    rng = torch.Generator().manual_seed(0)
    x, y = torch.randn(512, 784, generator=rng), torch.arange(512) % 10
    net = make(algorithm, 784, classes=range(10))
    negatives = "uniform" if net.contrastive else "all"
    trainer = Trainer(net, lr=1e-4, negatives=negatives, standardise=False)
    return lambda: trainer.step(x, y)


def main() -> None:
    """Time all sizes and algorithms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    limit(given.threads)
    found: dict[str, Any] = {"threads": given.threads}
    found |= {"chosen_here": products.wide_only_in_onednn(), "products": {}}
    for rows, inner, columns in SIZES:
        left, right = torch.randn(rows, inner), torch.randn(inner, columns)
        row = both(lambda left=left, right=right: products.product(left, right))
        row["gflops_onednn"] = 2e-6 * rows * inner * columns / row["onednn"]
        found["products"][f"{rows}x{inner}x{columns}"] = row
    found["steps"] = {algorithm: both(step(algorithm)) for algorithm in ALGORITHMS}
    found["environment"] = describe()
    text = json.dumps(found, indent=1)
    print(text)
    if given.out:
        write_text(given.out, text + "\n")


if __name__ == "__main__":
    main()
