"""Everyday sizes, each contender in a process of its own: libraries in one process disturb another.

The baseline is a plain MLP written with torch alone, in a process that has imported nothing else.
The same MLP is also measured in a process in which a network of SFFA has learned before.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sffa.bench.processes import in_a_process
from sffa.bench.shape import Shape

MLP = "mlp, torch alone"
BESIDE = "mlp, beside sffa"
SIZES = (
    Shape(labels=3, width=100, batch=32, inputs=4),
    Shape(labels=10, width=400, batch=32, inputs=64),
    Shape(labels=10, width=500, batch=64),
    Shape(),
    Shape(labels=26),
    Shape(labels=100),
)
TASKS = ("step", "predict", "row")
_Times = dict[str, list[float]]  # of each task, by the clock and by the processor's


@dataclass(frozen=True)
class Alone:
    """Medians in milliseconds over turns; ``ratio`` is to the MLP of the same turns.

    ``cpu`` is the time of the processor on all threads, which others who work beside disturb less.
    """

    contender: str
    shape: Shape
    task: str
    median: float
    ratio: float
    cpu: float
    cpu_ratio: float
    turns: int
    threads: int


def measure_alone(
    shape: Shape, names: Sequence[str], threads: int, turns: int = 3, seconds: float = 1.0
) -> list[Alone]:
    """Time a step, the prediction of a batch and that of one row, contender by contender in turn.

    ``row`` is one example as an array through ``predict``; peers have none.
    """
    taken: dict[str, list[_Times]] = {name: [] for name in (MLP, *names)}
    for _ in range(turns):
        for name, results in taken.items():
            order = {"threads": threads, "time": seconds}
            results.append(in_a_process("sffa.bench.alone", name, shape, **order))
    return [
        Alone(
            name,
            shape,
            task,
            *_compared(results, taken[MLP], task, 0),
            *_compared(results, taken[MLP], task, 1),
            turns,
            threads,
        )
        for name, results in taken.items()
        for task in TASKS
        if task in results[0]
    ]


def _compared(
    mine: list[_Times], theirs: list[_Times], task: str, clock: int
) -> tuple[float, float]:
    """Return the median over turns by one of the clocks, and that of the turns' own ratios."""
    times = [
        (one[task][clock], other[task][clock]) for one, other in zip(mine, theirs, strict=True)
    ]
    median = statistics.median(one for one, _ in times)
    return median, statistics.median(one / other for one, other in times)


def _medians(call: Callable[[], object], seconds: float) -> list[float]:
    """Return the medians of what calls take, in milliseconds, by the clock and by the processor's.

    The first five are not counted.
    """
    for _ in range(5):
        call()
    times: list[tuple[float, float]] = []
    started = time.perf_counter()
    while len(times) < 7 or time.perf_counter() - started < seconds:
        before = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - before[0], time.process_time() - before[1]))
    return [1e3 * statistics.median(clock) for clock in zip(*times, strict=True)]


def _plain(shape: Shape) -> Any:
    """Make the MLP that a torch user writes: two hidden layers, cross-entropy, fused Adam."""
    import torch
    from torch import nn

    widths = [shape.inputs, *[shape.width] * shape.layers]
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    network = nn.Sequential(*layers, nn.Linear(widths[-1], shape.labels))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)
    x, y = torch.randn(shape.batch, shape.inputs), torch.randint(shape.labels, (shape.batch,))
    row = x[:1].numpy()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(network(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    def predict(given: Any) -> Any:
        with torch.no_grad():
            return network(torch.as_tensor(given)).argmax(dim=1)

    return step, lambda: predict(x), lambda: predict(row).numpy()


def _ours(name: str, shape: Shape) -> Any:
    from sffa.bench.contenders import CONTENDERS

    contender = CONTENDERS[name](shape)
    return contender.step, contender.predict, contender.row


def _beside(shape: Shape) -> Any:
    """Make the plain MLP after a network of SFFA has learned and predicted."""
    for call in _ours("sffa", shape):
        for _ in range(5):
            call()
    return _plain(shape)


def _calls(name: str, shape: Shape) -> Any:
    if name in (MLP, BESIDE):
        return _plain(shape) if name == MLP else _beside(shape)
    return _ours(name, shape)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    import torch

    torch.set_num_threads(asked["threads"])
    calls = _calls(asked["name"], Shape(**asked["shape"]))
    print(
        json.dumps(
            {
                task: _medians(call, asked["time"])
                for task, call in zip(TASKS, calls, strict=True)
                if call is not None
            }
        )
    )
