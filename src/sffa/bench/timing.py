"""Interleaved timing, so that a busy machine disturbs all contenders alike, and peak memory."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sffa.bench.contenders import CONTENDERS
from sffa.bench.processes import in_a_process
from sffa.bench.shape import Shape
from sffa.errors import ConfigurationError
from sffa.memory import peak_mb, restart_peak

BASELINE = "backprop"


@dataclass(frozen=True)
class Timing:
    """Median and quartiles in milliseconds; ``ratio`` is the median over that of backprop.

    The ratio is the median of the rounds' own ratios: what disturbs a round disturbs both.
    """

    contender: str
    task: str
    shape: Shape
    median: float
    low: float
    high: float
    rounds: int
    ratio: float


def measure(
    shape: Shape,
    names: Sequence[str],
    *,
    rounds: int = 15,
    seconds: float = 30.0,
    on_contender: Callable[[str], object] | None = None,
) -> list[Timing]:
    """Time a training step and a prediction of each contender, round by round in turn.

    Stops early, after three rounds at least, when ``seconds`` have passed for a task.
    """
    if BASELINE not in names:
        raise ConfigurationError(f"'{BASELINE}' must be among what is measured")
    ready = {}
    for name in names:
        if on_contender is not None:
            on_contender(name)
        ready[name] = CONTENDERS[name](shape)
        ready[name].step()
    timings = []
    for task in ("step", "predict"):
        calls = {name: getattr(contender, task) for name, contender in ready.items()}
        times = _interleave(calls, rounds, seconds)
        for name, taken in times.items():
            low, median, high = statistics.quantiles(taken, n=4)
            ratio = statistics.median(t / b for t, b in zip(taken, times[BASELINE], strict=True))
            timings.append(Timing(name, task, shape, median, low, high, len(taken), ratio))
    return timings


def _interleave(
    calls: dict[str, Callable[[], object]], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Call each in turn, once unmeasured and then ``rounds`` times; milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    started = time.perf_counter()
    for turn in range(rounds + 1):
        if turn > 3 and time.perf_counter() - started > seconds:
            break
        for name, call in calls.items():
            before = time.perf_counter()
            call()
            if turn:
                times[name].append((time.perf_counter() - before) * 1e3)
    return times


def peak_memory(name: str, shape: Shape, steps: int = 3) -> float:
    """Return the megabytes a contender's training adds at its peak, in a process of its own."""
    return float(in_a_process("sffa.bench.timing", name, shape, steps=steps))


def _peak_of(name: str, shape: Shape, steps: int) -> float:
    """Train a little in this process and compare the peak with what was there before."""
    from sffa.kernels import warm_up

    warm_up()
    restart_peak()
    before = peak_mb()
    contender = CONTENDERS[name](shape)
    for _ in range(steps):
        contender.step()
    return peak_mb() - before


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(_peak_of(asked["name"], Shape(**asked["shape"]), asked["steps"]))
