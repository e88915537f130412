"""How long runs will take, judged from records of runs like them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sffa.record import Record, config_hash
from sffa.study.configuration import Run

Values = dict[str, Any]

# From the very same configuration to ever looser likeness.
_LIKENESS: tuple[Callable[[Values], tuple[object, ...]], ...] = (
    lambda v: (config_hash(v),),
    lambda v: (*_size(v), v.get("dataset"), v.get("scenario"), _method(v), v.get("algorithm")),
    lambda v: (*_size(v), v.get("scenario"), _method(v), v.get("algorithm")),
    lambda v: (*_size(v), v.get("scenario") == "static", v.get("algorithm")),
    lambda v: (*_size(v), v.get("scenario") == "static"),
)


class Estimator:
    """Median seconds of past runs, of the closest likeness that was ever recorded.

    Some clocks run on while a run is paused or shares its core, so a mean would say too much.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> from sffa.study import Run
    >>> Estimator([record]).seconds(Run(config)) == record.seconds
    True
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._seconds: list[dict[str, list[float]]] = [defaultdict(list) for _ in _LIKENESS]
        for record in records:
            if record.done and record.seconds is not None:
                self.add(record.config, record.seconds)

    def add(self, config: Values, seconds: float) -> None:
        """Learn from one more run."""
        for level, likeness in enumerate(_LIKENESS):
            self._seconds[level][str(likeness(config))].append(seconds)

    def seconds(self, run: Run) -> float | None:
        """Return the expected seconds of one run; None if nothing like it was ever done."""
        for level, likeness in enumerate(_LIKENESS):
            known = self._seconds[level].get(str(likeness(run.values)))
            if known:
                return statistics.median(known)
        return None

    def total(self, runs: Sequence[Run], slots: int) -> tuple[float, int]:
        """Return the expected wall seconds of runs done ``slots`` at a time, and how many unknown.

        Runs of which nothing is known count as the mean of the others.
        """
        expected = [self.seconds(run) for run in runs]
        known = [value for value in expected if value is not None]
        if not known:
            return 0.0, len(runs)
        return sum(known) / len(known) * len(runs) / max(slots, 1), len(runs) - len(known)


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(0.42), duration(42), duration(600), duration(9000)
    ('0.4 s', '42 s', '10 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.{int(0 < seconds < 1)}f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _size(values: Values) -> tuple[object, ...]:
    return values.get("epochs"), values.get("hidden"), values.get("batch_size")


def _method(values: Values) -> object:
    return values.get("method", values.get("negatives"))
