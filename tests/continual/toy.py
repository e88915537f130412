"""A small dataset that can be learned in a moment, and a course without shuffling."""

from __future__ import annotations

import numpy as np

from sffa.continual import ContinualRun
from sffa.core import Callback
from sffa.testing import Toy, toy
from sffa.testing.toy import Part

__all__ = ["PAIRS", "Part", "StopAt", "Toy", "Unshuffled", "small", "toy"]


class Unshuffled(ContinualRun):
    """A course that takes examples in the dataset's order."""

    def order(self, experience, count, epoch):
        return np.arange(count)


class StopAt(Callback):
    """Stop the run after so many batches; keep the positions seen."""

    def __init__(self, step: int | None = None) -> None:
        self.step = step
        self.seen: list[tuple[int, int]] = []
        self.experiences: list[int] = []

    def on_batch_end(self, progress):
        self.seen.append((progress.step, progress.steps))
        assert progress.loss.isfinite()
        return np.bool_(progress.step == self.step)

    def on_experience_end(self, learner, result):
        self.experiences.append(result.done)


PAIRS = ((0, 1), (2, 3), (4, 5))
SMALL = {
    "dataset": "toy",
    "class_order": PAIRS,
    "hidden": (24, 24),
    "batch_size": 16,
    "epochs": 3,
    "lr": 3e-3,
}


def small(algorithm: str, **more):
    """Return a configuration of the toy stream: three experiences of two classes."""
    from sffa.continual import ContinualConfig

    networks = {"bp": {}, "ffa": {"scale": "mean", "theta": 0.5}, "sffa-gated": {"k": 2}}
    network = networks.get(algorithm, {"k": 4})
    return ContinualConfig(**{**SMALL, "algorithm": algorithm, "network": network, **more})
