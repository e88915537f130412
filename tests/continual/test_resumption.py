"""Every strategy, scenario and algorithm: stopped at every experience and within one, same bits."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.continual.toy import small

from sffa.continual import METHODS, Result, Stopped, run
from sffa.core import Callback
from sffa.data import Dataset, from_arrays

SCENARIOS = ("class", "domain", "task")
ALGORITHMS = ("ffa", "sffa", "bp", "sffa-gated", "sffa-contrast")


class Interrupting(Callback):
    """Stop the run at the next experience or at one batch, each once."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.seen: set[int] = {0}
        self.steps = 0

    def on_batch_end(self, progress):
        self.steps = progress.steps
        if progress.step != self.batch:
            return False
        self.batch = -1
        return True

    def on_experience_end(self, learner, result):
        new = result.done not in self.seen
        self.seen.add(result.done)
        return new


@pytest.fixture(scope="module")
def data() -> Dataset:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    few = np.concatenate([np.flatnonzero(bunch.target == label)[:24] for label in range(6)])
    x, y = bunch.data[few].astype(np.float32), bunch.target[few]
    return from_arrays(x, y, x, y, name="toy")


def interrupted(config, data: Dataset, path: Path, batch: int) -> tuple[Result, int]:
    """Start the run again and again until it is through; return how often it was stopped."""
    stopping = Interrupting(batch)
    for stops in range(10):
        try:
            return run(config, data, checkpoint=path, callbacks=[stopping]), stops
        except Stopped:
            continue
    raise AssertionError("the run came to no end")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("method", list(METHODS))
def test_a_run_stopped_everywhere_ends_with_the_bits_of_one_never_stopped(
    method: str, algorithm: str, data: Dataset, tmp_path: Path
) -> None:
    for scenario in SCENARIOS:
        config = small(algorithm, method=method, scenario=scenario, epochs=2)
        path = tmp_path / f"{scenario}.safetensors"
        whole = run(config, data)
        steps = sum(2 * -(-48 // config.batch_size) for _ in range(3))
        batch = random.Random(f"{method} {algorithm} {scenario}").randrange(2, steps)
        found, stops = interrupted(config, data, path, batch)
        assert stops in (2, 3), f"{scenario}: stopped {stops} times"  # at the end nothing is left
        assert found.rows == whole.rows, scenario
        assert found.per_class == whole.per_class, scenario
        assert found.learner is not None
        assert whole.learner is not None
        ours, theirs = found.learner.state_dict(), whole.learner.state_dict()
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours), scenario
