"""Run records again, and ask whether this machine comes to what they say."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sffa.environment import cores
from sffa.errors import ConfigurationError, DataError
from sffa.extension import references
from sffa.record import Record, number
from sffa.seeds import generator
from sffa.study.configuration import parse
from sffa.study.datasets import check_data, unavailable
from sffa.study.execute import execute
from sffa.study.threads import limit

WIDE = 2  # standard deviations over seeds, within which a run counts as the same


@dataclass(frozen=True)
class Rerun:
    """A record, what the same configuration came to now, and how much its other seeds differ."""

    before: Record
    now: Record
    spread: float | None

    @property
    def difference(self) -> float:
        """Accuracy now less that of the record, in points."""
        return self.now.metrics["acc"] - self.before.metrics["acc"]

    @property
    def verdict(self) -> str:
        """``equal`` to the bit in all metrics, ``within`` the spread of other seeds, or ``apart``.

        It is ``open`` where other seeds are too few to have a spread.
        """
        if all(self.now.metrics.get(name) == it for name, it in self.before.metrics.items()):
            return "equal"
        if self.spread is None:
            return "open"
        return "within" if abs(self.difference) <= WIDE * self.spread else "apart"

    def row(self) -> dict[str, Any]:
        """Return what a table shows of it."""
        record, now = self.before, self.now
        names = ("dataset", "scenario", "method", "algorithm", "seed")
        return {
            **{name: getattr(record, name) for name in names},
            "before": record.metrics["acc"],
            "now": now.metrics["acc"],
            "difference": self.difference,
            "sd_of_seeds": self.spread,
            "verdict": self.verdict,
            "commit_before": record.environment.get("commit"),
            "commit_now": now.environment.get("commit"),
            "cpu_before": _cpu(record),
            "cpu_now": _cpu(now),
        }


def rerun(records: Sequence[Record], count: int = 5, seed: int = 0) -> Iterator[Rerun]:
    """Run some of the records again, drawn by ``seed``, each with the threads it had.

    Records of the user's own classes are left out: to import those runs code that a file names.
    So are those that do not tell all of their configuration.

    >>> from sffa.study import StaticConfig, run_static
    >>> config = StaticConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1, holdout=0)
    >>> [again.verdict for again in rerun([run_static(config)])]
    ['equal']
    """
    every = list({record.key: record for record in records if _can_be_run(record)}.values())
    if not every:
        raise DataError("there is no finished record that could be run again")
    order = generator(seed, "rerun").permutation(len(every))[:count]
    drawn = [every[place] for place in order.tolist()]
    if missing := unavailable(parse(record.config) for record in drawn):
        raise DataError("; ".join(missing.values()))
    check_data(drawn, {record.dataset for record in drawn})
    for record in drawn:
        threads = int(number(record.environment.get("threads")) or 1)
        limit(min(max(threads, 1), cores()))
        now = execute(record.config)
        alike = (r for r in every if r.config_hash == record.config_hash)
        others = [r.metrics["acc"] for r in alike if r.seed != record.seed]
        yield Rerun(record, now, statistics.stdev(others) if others[1:] else None)


def _can_be_run(record: Record) -> bool:
    """Whether a finished record tells all that is needed, and names no class of the user's."""
    if not record.done or "acc" not in record.metrics or references(record.config):
        return False
    try:
        run = parse(record.config)
    except ConfigurationError:
        return False
    told = record.seed is not None and "dataset" in record.config
    return told and (run.key, run.cell) == (record.key, record.cell)


def _cpu(record: Record) -> str | None:
    machine = record.environment.get("machine")
    return machine.get("cpu") if isinstance(machine, dict) else None
