"""Choose the label gate of continual runs by accuracy on held-out training examples.

The test split is not looked at: 5,000 training examples take its place. Seeds are none of those
that results are reported for. Choices are appended to the file as they come; what is there already
is not run again.

SFFA_DATA_DIR=… python benchmarks/choose_gate.py --out results/gate_choice.csv
"""

from __future__ import annotations

import argparse
import csv
import itertools
from dataclasses import replace
from pathlib import Path

from sffa.continual import ContinualConfig, run
from sffa.data import load
from sffa.study.threads import limit

COLUMNS = ("scenario", "method", "gate", "candidates", "seed", "accuracy")
CELLS = (("class", "naive"), ("class", "replay"), ("task", "naive"), ("domain", "naive"))
GATES = ("0.2", "0.3", "0.5", "disjoint")


def main() -> None:
    """Try every combination on every cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    limit(1)
    done = set()
    if asked.out.exists():
        with asked.out.open() as stream:
            done = {tuple(row.values())[:-1] for row in csv.DictReader(stream)}
    with asked.out.open("a", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        for seed in asked.seeds:
            whole, held = load("mnist").hold_out(5000, seed)
            data = replace(whole, test=held)
            for (scenario, method), gate in itertools.product(CELLS, GATES):
                for candidates in ("seen", "current") if scenario == "class" else ("seen",):
                    choice = (scenario, method, gate, candidates, str(seed))
                    if choice in done:
                        continue
                    config = ContinualConfig(
                        scenario=scenario,
                        method=method,
                        seed=seed,
                        network={
                            "gate": gate if gate == "disjoint" else float(gate),
                            "candidates": candidates,
                        },
                    )
                    accuracy = run(config, data).metrics["acc"]
                    writer.writerow([*choice, f"{accuracy:.3f}"])
                    stream.flush()
                    print(*choice, f"{accuracy:.2f}", flush=True)


if __name__ == "__main__":
    main()
