"""How long one epoch of MNIST on all ten labels takes, and one Class IL run of the paper.

SFFA_DATA_DIR=… python benchmarks/profile_epoch.py --out results/profile.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from sffa.continual import ContinualConfig
from sffa.continual import run as run_continual
from sffa.core import Trainer, make
from sffa.data import Dataset, load
from sffa.files import write_text
from sffa.kernels import warm_up


def trainer_for(data: Dataset, **options: object) -> Trainer:
    """Make the paper's network for a dataset."""
    learner = make("sffa", data.features, classes=range(data.classes), **options)
    learner.standardise(data.mean, data.std)
    return Trainer(learner)


def epoch_seconds(data: Dataset, **options: object) -> float:
    """Time the second epoch, when everything is warm."""
    trainer = trainer_for(data, **options)
    history = trainer.fit(data.train.flat, data.train.y, epochs=2)
    return history[-1].seconds


def main() -> None:
    """Measure and print; write the JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warm_up()
    data = load("mnist")
    result: dict[str, object] = {
        "threads": torch.get_num_threads(),
        "epoch_seconds": epoch_seconds(data),
        "epoch_seconds_disjoint": epoch_seconds(data, gate="disjoint"),
    }
    started = time.perf_counter()
    outcome = run_continual(ContinualConfig(), data)
    result["class_il_seconds"] = time.perf_counter() - started
    result["class_il_training_seconds"] = sum(e["seconds"] for e in outcome.experiences)
    text = json.dumps(result, indent=1)
    print(text)
    if asked.out is not None:
        write_text(asked.out, text + "\n")


if __name__ == "__main__":
    main()
