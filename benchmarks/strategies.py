"""What each strategy costs: one Class IL run of the paper on Split-MNIST, against naive.

SFFA_DATA_DIR=… python benchmarks/strategies.py --out results/strategies.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from sffa.continual import PAPER, ContinualConfig, run
from sffa.data import load
from sffa.files import write_text
from sffa.kernels import warm_up


def main() -> None:
    """Time every method of the paper, naive before each, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="sffa")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warm_up()
    data = load("mnist")

    def seconds(method: str) -> tuple[float, float]:
        started = time.perf_counter()
        config = ContinualConfig(method=method, algorithm=asked.algorithm)
        result = run(config, data)
        return time.perf_counter() - started, result.experiences[-1]["strategy_mb"]

    rows = []
    for method in PAPER:
        naive, _ = seconds("naive")
        spent, megabytes = seconds(method)
        row = {"method": method, "seconds": spent, "ratio": spent / naive, "mb": megabytes}
        rows.append(row)
        print(f"{method:8} {spent:6.1f} s  x{row['ratio']:.2f}  {megabytes:.1f} MB", flush=True)
    if asked.out is not None:
        write_text(asked.out, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
