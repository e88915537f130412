"""What fitting the statistics of `gaussian` takes, beside a pass over the same examples.

Seconds are of the processor, on one thread, so that other work on the machine counts little. The
pass is over the first experience, two labels at hand: later ones, with more labels and with
pseudo-examples beside the new ones, take longer, and fitting does not.

SFFA_DATA_DIR=… python benchmarks/gaussian_fit.py --out results/gaussian_fit.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from sffa.continual import ContinualConfig, ContinualRun, make_strategy
from sffa.core import Callback
from sffa.core.callbacks import Epoch, Progress
from sffa.data import load
from sffa.environment import describe
from sffa.files import write_text
from sffa.study.threads import limit


class Passes(Callback):
    """Processor seconds of each pass over the examples of an experience but the first."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.last = 0.0

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        """Note what the pass took."""
        now = time.process_time()
        if self.last:
            self.seconds.append(now - self.last)
        self.last = now


def measure(dataset: str, algorithm: str, rounds: int) -> dict[str, Any]:
    """Learn the first experience without a method, then fit what its classes leave, some times."""
    config = ContinualConfig(
        dataset=f"split-{dataset}", algorithm=algorithm, epochs=rounds + 1, seed=0
    )
    going = ContinualRun(config, load(dataset))
    passes = Passes()
    first = going.stream[0]
    going.learn(first, [passes])
    fits = []
    for _ in range(rounds):
        strategy = make_strategy(["gaussian"])
        started = time.process_time()
        strategy.after_experience(going.learner, first)
        fits.append(time.process_time() - started)
    epoch, fit = statistics.median(passes.seconds), statistics.median(fits)
    return {
        "dataset": dataset,
        "algorithm": algorithm,
        "examples": len(first.train),
        "classes": len(first.classes),
        "epoch_seconds": round(epoch, 3),
        "fit_seconds": round(fit, 3),
        "fit_in_epochs": round(fit / epoch, 3),
    }


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", nargs="+", default=["mnist", "fmnist"])
    parser.add_argument("--algorithm", nargs="+", default=["bp", "sffa", "sffa-contrast"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    limit(1)
    rows = []
    for dataset in given.dataset:
        for algorithm in given.algorithm:
            rows.append(measure(dataset, algorithm, given.rounds))
            print(rows[-1], flush=True)
    if given.out:
        found = {"rounds": given.rounds, "rows": rows, "environment": describe()}
        write_text(given.out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
