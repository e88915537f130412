"""Records as the report reads them: whatever is missing or odd in one is said, never guessed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sffa.study.record import Record

DATASETS = (
    *("mnist", "fmnist", "kmnist", "kmnist-reduced", "emnist-letters", "cifar10", "digits"),
    *("split-mnist", "split-fmnist", "split-kmnist", "split-digits"),
)
SCENARIOS = ("static", "class", "domain", "task")
METHODS = ("none", "uniform", "hard", "all", "naive", "ewc", "si", "mas", "replay", "gem")
ALGORITHMS = ("bp", "ffa", "sffa", "sffa-gated")
CONTINUAL = ("acc", "fgt", "fwt", "bwt")
STATIC = ("best", "last", "chosen")


@dataclass(frozen=True)
class Run:
    """One record: what was run, what came of it, and the record itself."""

    number: int
    dataset: str
    scenario: str
    method: str
    algorithm: str
    seed: int | None
    done: bool
    metrics: dict[str, float]
    config: dict[str, Any]
    record: Mapping[str, Any] = field(repr=False)

    @property
    def static(self) -> bool:
        """Whether all classes came at once."""
        return self.scenario == "static"


def read(records: Iterable[Mapping[str, Any] | Record]) -> list[Run]:
    """Make runs of records, in the order that tables show them.

    A record is a mapping as a run gives it, or one of the study room's.

    >>> [run.done for run in read([{"dataset": "mnist", "status": "failed", "seed": 0}])]
    [False]
    """
    runs = [_run(_mapping(record)) for record in records]
    runs.sort(key=order)
    return [replace(run, number=position) for position, run in enumerate(runs)]


def order(run: Run) -> tuple[object, ...]:
    """Sort as the paper does: dataset, scenario, method, algorithm; then by seed."""
    return (
        rank_of(DATASETS, run.dataset),
        rank_of(SCENARIOS, run.scenario),
        rank_of(METHODS, run.method),
        rank_of(ALGORITHMS, run.algorithm),
        -1 if run.seed is None else run.seed,
    )


def sort_keys(values: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the distinct values, the known ones in their order first.

    >>> sort_keys(["zeta", "ffa", "bp"], ALGORITHMS)
    ['bp', 'ffa', 'zeta']
    """
    return sorted(set(values), key=lambda value: rank_of(known, value))


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Write a nested configuration as dotted keys.

    >>> flat({"network": {"k": 15}, "lr": 0.001})
    {'network.k': 15, 'lr': 0.001}
    """
    pairs: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            pairs |= flat(value, f"{prefix}{key}.")
        else:
            pairs[f"{prefix}{key}"] = value
    return pairs


def number(value: Any) -> float | None:
    """Return a finite number, or None for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _mapping(record: Mapping[str, Any] | Record) -> Mapping[str, Any]:
    if not isinstance(record, Record):
        return record
    plain = {item.name: getattr(record, item.name) for item in fields(record)}
    return {**plain.pop("details"), **plain}


def _run(record: Mapping[str, Any]) -> Run:
    metrics = record.get("metrics")
    found = {
        str(key): value
        for key, given in (metrics.items() if isinstance(metrics, Mapping) else ())
        if (value := number(given)) is not None
    }
    config = record.get("config")
    seed = number(record.get("seed"))
    done = str(record.get("status", "done")) == "done" and bool(found)
    scenario = str(record.get("scenario") or "static")
    return Run(
        number=0,
        dataset=str(record.get("dataset") or "unknown"),
        scenario=scenario,
        method=str(record.get("method") or ("" if scenario == "static" else "naive")),
        algorithm=str(record.get("algorithm") or "unknown"),
        seed=None if seed is None else int(seed),
        done=done,
        metrics=found if done else {},
        config=dict(config) if isinstance(config, Mapping) else {},
        record=record,
    )


def rank_of(known: Sequence[str], value: str) -> tuple[int, str]:
    """Return what a value is sorted by: the known ones first, in their order."""
    return (known.index(value), "") if value in known else (len(known), value)
