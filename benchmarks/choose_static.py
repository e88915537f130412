"""Choose the network of static training by accuracy on held-out training examples.

As `choose_gaussian.py` does for streams: a tenth of each class's training examples takes the place
of the test split, seeds are none of those reported, lines are appended as they come. ``best`` is
that of the best epoch, ``last`` that of the last.

SFFA_DATA_DIR=… python benchmarks/choose_static.py --out results/static_choice.csv \
    --try "batch_size=256" --try "network.k=30,lr=2e-3"
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from choose_gaussian import held_out, values_of

from sffa.study.static import StaticConfig, run_static
from sffa.study.threads import limit

COLUMNS = ("dataset", "choice", "seed", "best", "last", "seconds")
BASE = {
    "algorithm": "sffa-gated",
    "negatives": "all",
    "epochs": 20,
    "lr": 1e-3,
    "lr_schedule": "cosine",
    "holdout": 0,
}


def configuration(dataset: str, seed: int, choice: str) -> StaticConfig:
    """Return the configuration of a choice such as ``network.gate=disjoint,batch_size=256``."""
    return StaticConfig(dataset=dataset, seed=seed, **{**BASE, **values_of(choice)})


def main() -> None:
    """Run every choice on every dataset and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", nargs="+", default=["fmnist"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--try", dest="choices", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    limit(1)
    done = set()
    if asked.out.exists():
        with asked.out.open() as stream:
            done = {tuple(row.values())[:3] for row in csv.DictReader(stream)}
    with asked.out.open("a", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        if not stream.tell():
            writer.writerow(COLUMNS)
        for choice in asked.choices or [""]:
            for seed in asked.seeds:
                for name in asked.dataset:
                    which = name, choice, str(seed)
                    if which in done:
                        continue
                    record = run_static(configuration(name, seed, choice), held_out(name, seed))
                    found = record.metrics
                    row = [f"{found['best']:.2f}", f"{found['last']:.2f}", f"{record.seconds:.0f}"]
                    writer.writerow([*which, *row])
                    stream.flush()
                    print(*which, *row, flush=True)


if __name__ == "__main__":
    main()
