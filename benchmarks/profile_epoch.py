"""Where the time goes: one epoch of MNIST on all ten labels, and one Class IL run of the paper.

SFFA_DATA_DIR=… python benchmarks/profile_epoch.py --out results/profile.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from sffa.continual import ContinualConfig
from sffa.continual import run as run_continual
from sffa.core import Trainer, make
from sffa.data import Dataset, load
from sffa.files import write_text
from sffa.kernels import warm_up

_PARTS = {
    "products": ("aten::mm", "aten::addmm"),
    "winners and gather": ("_Scan",),
    "scatter": ("_ScanBackward",),
    "optimiser": ("aten::_fused_adam_",),
    "data": ("aten::index", "aten::addcmul", "aten::_to_copy", "aten::copy_"),
}


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


def shares(data: Dataset) -> dict[str, float]:
    """Return the share of an epoch's time that each part takes, in percent."""
    trainer = trainer_for(data)
    trainer.fit(data.train.flat[:5120], data.train.y[:5120])
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        trainer.fit(data.train.flat, data.train.y)
    spent: dict[str, float] = defaultdict(float)
    for event in profiler.key_averages():
        part = next((p for p, names in _PARTS.items() if event.key in names), "other")
        spent[part] += event.self_cpu_time_total
    total = sum(spent.values())
    return {part: 100 * value / total for part, value in sorted(spent.items())}


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
        "epoch_percent": shares(data),
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
