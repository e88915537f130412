"""Choose the network of static training by accuracy on held-out training examples.

``best`` is the accuracy of the best epoch, ``last`` that of the last.

SFFA_DATA_DIR=… python benchmarks/choose_static.py --out results/static_choice.csv \
    --try "network.gate=disjoint" --try "network.gate=0.3,batch_size=128"
"""

from __future__ import annotations

import argparse

from choices import held_out, try_all, values_of

from sffa.study.static import StaticConfig, run_static

PLACE = ("dataset", "choice", "seed")
COLUMNS = (*PLACE, "best", "last", "seconds")
BASE = {
    "algorithm": "sffa-gated",
    "negatives": "all",
    "epochs": 20,
    "lr": 1e-3,
    "lr_schedule": "cosine",
    "holdout": 0,
}


def do(_: argparse.Namespace, dataset: str, seed: int, choice: str) -> list[str]:
    """Train; return the accuracy of the best epoch and of the last, and the time."""
    config = StaticConfig(dataset=dataset, seed=seed, **{**BASE, **values_of(choice)})
    record = run_static(config, held_out(dataset, seed))
    found = record.metrics
    return [f"{found['best']:.2f}", f"{found['last']:.2f}", f"{record.seconds:.0f}"]


def main() -> None:
    """Run every choice on every dataset and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", nargs="+", default=["fmnist"])
    try_all(parser, COLUMNS, PLACE, do)


if __name__ == "__main__":
    main()
