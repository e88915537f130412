"""Choose how statistics stand in for examples, by accuracy on held-out training examples.

The test split is not looked at: a tenth of each class's training examples takes its place. Seeds
are none of those that results are reported for. Each line of the file is one run, appended as it
comes; what is there already is not run again.

SFFA_DATA_DIR=… python benchmarks/choose_gaussian.py --out results/gaussian_choice.csv \
    --try "gaussian.parts=10" --try "gaussian.rank=30,network.temperature=2"
"""

from __future__ import annotations

import argparse
import ast
import csv
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sffa.continual import ContinualConfig, run
from sffa.data import load
from sffa.study.threads import limit

COLUMNS = ("dataset", "scenario", "choice", "seed", "accuracy", "forgetting", "mb", "seconds")


def held_out(name: str, seed: int) -> Any:
    """Return a dataset whose test split is a tenth of each class's training examples."""
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


def configuration(dataset: str, scenario: str, seed: int, choice: str) -> ContinualConfig:
    """Return the configuration of a choice."""
    values = {"method": "gaussian", "algorithm": "sffa-contrast", **values_of(choice)}
    return ContinualConfig(dataset=f"split-{dataset}", scenario=scenario, seed=seed, **values)


def main() -> None:
    """Run every choice on every dataset and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", nargs="+", default=["mnist", "fmnist"])
    parser.add_argument("--scenario", default="class")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--try", dest="choices", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    limit(1)
    done = set()
    if asked.out.exists():
        with asked.out.open() as stream:
            done = {tuple(row.values())[:4] for row in csv.DictReader(stream)}
    with asked.out.open("a", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if not stream.tell():
            writer.writerow(COLUMNS)
        for choice in asked.choices or [""]:
            for seed in asked.seeds:
                for name in asked.dataset:
                    which = name, asked.scenario, choice, str(seed)
                    if which in done:
                        continue
                    started = time.perf_counter()
                    config = configuration(name, asked.scenario, seed, choice)
                    result = run(config, held_out(name, seed))
                    row = [f"{result.metrics['acc']:.2f}", f"{result.metrics['fgt']:.2f}"]
                    row += [f"{result.experiences[-1]['strategy_mb']:.2f}"]
                    row += [f"{time.perf_counter() - started:.0f}"]
                    writer.writerow([*which, *row])
                    stream.flush()
                    print(*which, *row, flush=True)


if __name__ == "__main__":
    main()
