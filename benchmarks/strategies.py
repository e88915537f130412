"""What each strategy costs: one Class IL run of the paper on Split-MNIST, against naive.

Each method runs after a naive run of its own, on one thread, and the processor's time is counted,
which other load moves less than the clock. With several rounds the ratio is their median.

SFFA_DATA_DIR=… python benchmarks/strategies.py --out results/strategies.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median

import torch

from sffa.continual import PAPER, ContinualConfig, run
from sffa.data import load
from sffa.files import write_text
from sffa.kernels import warm_up


def main() -> None:
    """Time every method of the paper beside naive, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="sffa")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warm_up()
    data = load("mnist")

    def seconds(method: str) -> tuple[float, float]:
        started = time.process_time()
        config = ContinualConfig(method=method, algorithm=asked.algorithm)
        result = run(config, data)
        return time.process_time() - started, result.experiences[-1]["strategy_mb"]

    rows = []
    for method in PAPER:
        spent, ratios = [], []
        for _ in range(asked.rounds):
            naive, _ = seconds("naive")
            own, megabytes = seconds(method)
            spent.append(own)
            ratios.append(own / naive)
        row = {"method": method, "seconds": median(spent), "ratio": median(ratios)}
        rows.append({**row, "ratios": ratios, "mb": megabytes})
        every = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{method:8} {row['seconds']:6.1f} s  x{row['ratio']:.2f} ({every})", flush=True)
    if asked.out is not None:
        write_text(asked.out, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
