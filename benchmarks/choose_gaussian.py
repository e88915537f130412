"""Choose how statistics stand in for examples, by accuracy on held-out training examples.

SFFA_DATA_DIR=… python benchmarks/choose_gaussian.py --out results/gaussian_choice.csv \
    --try "gaussian.parts=10" --try "gaussian.rank=30,network.temperature=2"
"""

from __future__ import annotations

import argparse
import time

from choices import held_out, try_all, values_of

from sffa.continual import ContinualConfig, run

PLACE = ("dataset", "scenario", "choice", "seed")
COLUMNS = (*PLACE, "accuracy", "forgetting", "mb", "seconds")


def configuration(dataset: str, scenario: str, seed: int, choice: str) -> ContinualConfig:
    """Return the configuration of a choice."""
    values = {"method": "gaussian", "algorithm": "sffa-contrast", **values_of(choice)}
    return ContinualConfig(dataset=f"split-{dataset}", scenario=scenario, seed=seed, **values)


def do(asked: argparse.Namespace, dataset: str, seed: int, choice: str) -> list[str]:
    """Run a stream; return its accuracy, its forgetting, what is kept and the time."""
    started = time.perf_counter()
    config = configuration(dataset, asked.scenario, seed, choice)
    result = run(config, held_out(dataset, seed))
    kept = result.experiences[-1]["strategy_mb"]
    found = [f"{number:.2f}" for number in (result.metrics["acc"], result.metrics["fgt"], kept)]
    return [*found, f"{time.perf_counter() - started:.0f}"]


def main() -> None:
    """Run every choice on every dataset and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", nargs="+", default=["mnist", "fmnist"])
    parser.add_argument("--scenario", default="class")
    try_all(parser, COLUMNS, PLACE, do)


if __name__ == "__main__":
    main()
