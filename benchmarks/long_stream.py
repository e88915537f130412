"""A stream of 1,000 experiences that nobody holds in memory: memory along the way, and resumption.

Every experience is drawn from its number when it is asked for, and gone afterwards. One run goes
through; another is stopped at several batches and goes on each time from its checkpoint.

    python benchmarks/long_stream.py --out results/long_stream.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from sffa.continual import ContinualConfig, IteratorStream, Result, Stopped, run
from sffa.core import Callback
from sffa.environment import describe
from sffa.files import write_text

FEATURES, CLASSES, EXAMPLES = 256, 10, 256


def experience(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw examples around centres that move with the number of the experience."""
    centres = np.random.default_rng(0).normal(size=(CLASSES, FEATURES)).astype(np.float32)
    rng = np.random.default_rng([1, number])
    y = rng.integers(0, CLASSES, EXAMPLES)
    noise = rng.normal(size=(EXAMPLES, FEATURES)).astype(np.float32)
    return centres[y] + 4 * noise, y


def source(count: int) -> object:
    """Return a function that yields experiences from number ``start`` on."""

    def starting(start: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return (experience(number) for number in range(start, count))

    return starting


class StopAt(Callback):
    """Stop after some batch."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_batch_end(self, progress: object) -> bool:
        """Whether the batch is reached."""
        return progress.step == self.step  # type: ignore[attr-defined]


def learn(count: int, every: int, checkpoint: Path | None = None, stop: int = -1) -> Result:
    """Learn the stream, or the part of it up to a stop."""
    config = ContinualConfig(
        algorithm="bp",
        method="replay-reservoir",
        hidden=(60,),
        epochs=1,
        batch_size=64,
        evaluate_every=every,
    )
    stream = IteratorStream(source(count), [experience(10**6)], length=count, name="drawn")
    return run(config, stream=stream, checkpoint=checkpoint, callbacks=[StopAt(stop)])


def main() -> None:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiences", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    every = max(given.experiences // 20, 1)
    whole = learn(given.experiences, every)
    memory = [part["memory_mb"] for part in whole.experiences]
    stops = [given.experiences * 4 * share // 100 + 1 for share in (10, 37, 80)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.safetensors"
        for stop in stops:
            try:
                learn(given.experiences, every, path, stop)
            except Stopped:
                continue
        resumed = learn(given.experiences, every, path)
    pairs = zip(
        whole.learner.state_dict().values(), resumed.learner.state_dict().values(), strict=True
    )
    found = {
        "experiences": given.experiences,
        "examples": given.experiences * EXAMPLES,
        "megabytes_of_all_examples": given.experiences * EXAMPLES * FEATURES * 4 / 2**20,
        "memory_mb": [round(value, 1) for value in memory],
        "stopped_after_batches": stops,
        "same_bits": all(torch.equal(a, b) for a, b in pairs) and whole.rows == resumed.rows,
        "acc": whole.metrics["acc"],
        "seconds": round(whole.seconds, 1),
        "environment": describe(),
    }
    text = json.dumps(found, indent=1)
    print(text)
    if given.out:
        write_text(given.out, text + "\n")


if __name__ == "__main__":
    main()
