"""What each strategy costs: one Class IL run of the paper on Split-MNIST, against naive.

All methods learn the stream side by side, a batch of each in turn, so that a machine which is
slower for a while is so for all of them alike. A run is learning, what the strategy does between
experiences, and testing; the command that makes one also starts Python, which is timed apart.

SFFA_DATA_DIR=… python benchmarks/strategies.py --out results/strategies.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from sffa.continual import PAPER, ContinualConfig
from sffa.continual.loop import ContinualRun
from sffa.continual.strategies.base import Clock
from sffa.data import load
from sffa.files import write_text
from sffa.kernels import warm_up


def main() -> None:
    """Time every method of the paper beside naive, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algorithm", default="sffa")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warm_up()
    data = load("mnist")
    spent = dict.fromkeys(PAPER, 0.0)
    for _ in range(asked.rounds):
        configs = [ContinualConfig(method=m, algorithm=asked.algorithm) for m in PAPER]
        courses = {config.method: ContinualRun(config, data) for config in configs}
        for method, seconds in side_by_side(courses):
            spent[method] += seconds / asked.rounds
    start = command(asked.algorithm)
    rows = [
        {
            "method": method,
            "seconds": spent[method],
            "ratio": spent[method] / spent["naive"],
            "command_ratio": (start + spent[method]) / (start + spent["naive"]),
            "mb": courses[method].strategy.megabytes,
        }
        for method in PAPER
    ]
    print(f"threads {torch.get_num_threads()}, start of the command {start:.1f} s")
    for row in rows:
        ratios = f"x{row['ratio']:.2f}, command x{row['command_ratio']:.2f}"
        print(f"{row['method']:8} {row['seconds']:5.1f} s  {ratios}  {row['mb']:5.1f} MB")
    if asked.out is not None:
        found = {"threads": torch.get_num_threads(), "start": start, "methods": rows}
        write_text(asked.out, json.dumps(found, indent=1) + "\n")


def side_by_side(courses: dict[str, ContinualRun]) -> Iterator[tuple[str, float]]:
    """Do what `ContinualRun.learn` does in all runs at once, yielding whose time each part took."""

    def each(part: Callable[..., object], *given: object) -> Iterator[tuple[str, float]]:
        for method, course in courses.items():
            started = time.perf_counter()
            part(course, *given)
            yield method, time.perf_counter() - started

    first = courses["naive"]
    yield from each(ContinualRun.evaluate)
    for number, experience in enumerate(first.stream):
        yield from each(enter, number)
        for epoch in range(first.config.epochs):
            order = torch.from_numpy(first.order(experience, len(experience.train), epoch))
            for batch, chosen in enumerate(torch.split(order, first.config.batch_size)):
                yield from each(learn, Clock(number, epoch, batch), chosen)
        yield from each(leave, number)
        yield from each(ContinualRun.evaluate)


def enter(course: ContinualRun, number: int) -> None:
    """Meet the classes of an experience."""
    course.enter(course.stream[number])


def learn(course: ContinualRun, clock: Clock, chosen: torch.Tensor) -> None:
    """Take a step on some examples of an experience."""
    batch = course.stream[clock.experience].train.take(chosen)
    course.trainer.step(*batch, hooks=course.strategy, clock=clock)


def leave(course: ContinualRun, number: int) -> None:
    """Let the strategy remember an experience."""
    course.strategy.after_experience(course.learner, course.stream[number])


def command(algorithm: str) -> float:
    """Return the seconds of a naive command that are not in its record; the least of three."""
    what = ["--dataset", "split-mnist", "--scenario", "class", "--method", "naive"]
    line = [sys.executable, "-m", "sffa", "continual", *what, "--algorithm", algorithm, "--json"]
    beside = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            done = subprocess.run(line, check=True, capture_output=True, text=True, cwd=folder)
            spent = time.perf_counter() - started
        beside.append(spent - json.loads(done.stdout)["seconds"])
    return min(beside)


if __name__ == "__main__":
    main()
