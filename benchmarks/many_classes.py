"""A stream of fifty classes, two at a time: what a step takes and what is kept as classes come.

A class is a digit turned by one of five angles; its examples are made when its experience comes,
from the dataset at hand, and gone afterwards. For each contender: median seconds of a step, memory
of the method (of ridge, of the learner), and accuracy over all classes so far, after each
experience. Seconds are of the processor, on one thread, so that other work on the machine counts
little. A second run of the script with the same ``--out`` adds contenders.

    SFFA_DATA_DIR=… python benchmarks/many_classes.py --out results/many_classes.json \
        --figure results/figures/many_classes.svg
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from sffa.continual import ContinualConfig, IteratorStream, run
from sffa.core import Callback
from sffa.core.callbacks import Progress
from sffa.data import Dataset, load
from sffa.environment import describe
from sffa.files import write_text
from sffa.report.drawing import finish
from sffa.report.style import styled
from sffa.study.threads import limit
from sffa.vocabulary import algorithm_term, method_term

ANGLES = 5
# What replay stores is what gaussian ends with, 8.2 MB of 784 pixels in 816 bytes an example.
CONTENDERS: dict[str, dict[str, Any]] = {
    "gaussian": {"method": "gaussian", "algorithm": "sffa-contrast"},
    "replay, the same bytes": {
        "method": "replay",
        "algorithm": "sffa-contrast",
        "options": {"replay.capacity": 10500},
    },
    "ridge": {"method": "naive", "algorithm": "ridge"},
}


def examples(data: Dataset, split: str, label: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some examples of a class: a digit, turned by the angle that the label stands for."""
    angle, digit = divmod(label, data.classes)
    part = getattr(data, split)
    x = np.asarray(part.x)[np.flatnonzero(np.asarray(part.y) == digit)[:most]]
    if angle:
        x = ndimage.rotate(x, 180 / ANGLES * angle, axes=(2, 1), reshape=False, order=1)
    return x.reshape(len(x), -1), np.full(len(x), label)


def together(data: Dataset, split: str, labels: list[int], most: int) -> Any:
    """Return the examples of some classes as one pair of arrays."""
    found = [examples(data, split, label, most) for label in labels]
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def stream_of(data: Dataset, train: int, test: int) -> IteratorStream:
    """Return the stream: two classes an experience, in an order drawn once."""
    order = np.random.default_rng(0).permutation(ANGLES * data.classes).reshape(-1, 2).tolist()

    def starting(first: int) -> Iterator[Any]:
        return (together(data, "train", labels, train) for labels in order[first:])

    tests = [together(data, "test", labels, test) for labels in order]
    return IteratorStream(starting, tests, length=len(order), name="turned digits")


class Steps(Callback):
    """Processor seconds from one step to the next within an experience."""

    def __init__(self) -> None:
        self.seconds: dict[int, list[float]] = defaultdict(list)
        self.last = (-1, 0.0)

    def on_batch_end(self, progress: Progress) -> None:
        """Note how long the step took, the first of an experience left out."""
        now = time.process_time()
        if self.last[0] == progress.experience:
            self.seconds[progress.experience].append(now - self.last[1])
        self.last = progress.experience, now


def measure(name: str, data: Dataset, given: argparse.Namespace) -> dict[str, Any]:
    """Learn the stream once."""
    config = ContinualConfig(
        **CONTENDERS[name], batch_size=given.batch_size, epochs=2, seed=0, hidden=given.hidden
    )
    steps = Steps()
    started = time.process_time()
    result = run(config, stream=stream_of(data, given.train, given.test), callbacks=[steps])
    kept = "learner_mb" if config.method == "naive" else "strategy_mb"
    return {
        **CONTENDERS[name],
        "step_seconds": [round(statistics.median(found), 5) for found in steps.seconds.values()],
        "kept_mb": [round(part[kept], 4) for part in result.experiences],
        "learner_mb": [round(part["learner_mb"], 2) for part in result.experiences],
        "accuracy": [round(value, 2) for value in result.curve],
        "seconds": round(time.process_time() - started, 1),
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw seconds of a step, megabytes kept and accuracy against the classes met."""
    from matplotlib.figure import Figure

    lines = (
        ("step_seconds", "Seconds of a step"),
        ("kept_mb", "Kept of the past, MB"),
        ("accuracy", "Accuracy over classes met, %"),
    )
    rows = []
    with styled():
        figure = Figure(figsize=(9.6, 3.0))
        for axes, (key, title) in zip(figure.subplots(1, 3), lines, strict=True):
            for name, each in found["contenders"].items():
                closed = each["method"] == "naive"
                term = algorithm_term(each["algorithm"]) if closed else method_term(each["method"])
                values = each[key]
                classes = [2 * (number + 1) for number in range(len(values))]
                axes.plot(classes, values, color=term.colour, linestyle=term.dash, label=name)
                rows += [
                    {"contender": name, "what": key, "classes": c, "value": v}
                    for c, v in zip(classes, values, strict=True)
                ]
            axes.set(title=title, xlabel="Classes met", ylim=(0, None))
        figure.axes[1].legend(fontsize=7)
        drawing = finish(
            "many_classes",
            "Fifty classes, two at a time",
            "Median processor seconds of a training step, megabytes kept and accuracy as "
            "classes come: digits turned by five angles.",
            figure,
            rows,
        )
    write_text(path, drawing.svg)


def main() -> None:
    """Measure the contenders that are asked for, print and draw what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--train", type=int, default=300, help="examples of a class to learn from")
    parser.add_argument("--test", type=int, default=100, help="examples of a class to test with")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--hidden", type=int, nargs="+", default=[1400, 1400])
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    limit(1)
    data = load(given.dataset)
    asked = {name: value for name, value in vars(given).items() if name not in _PLACES}
    found: dict[str, Any] = {**asked, "classes": ANGLES * data.classes, "contenders": {}}
    if given.out and given.out.exists():
        old = json.loads(given.out.read_text(encoding="utf-8"))
        if all(old[name] == value for name, value in asked.items()):
            found["contenders"] = old["contenders"]
    for name in given.only:
        found["contenders"][name] = measure(name, data, given)
        ended = {key: found["contenders"][name][key] for key in ("accuracy", "step_seconds")}
        print(name, {key: (values[0], values[-1]) for key, values in ended.items()}, flush=True)
    found["environment"] = describe()
    if given.out:
        write_text(given.out, json.dumps(found, indent=1) + "\n")
    if given.figure:
        draw(found, given.figure)


_PLACES = ("out", "figure", "only")

if __name__ == "__main__":
    main()
