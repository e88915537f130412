"""The outcome of a run, and its one flat form, shared by the store and by CSV files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sffa.study.configuration import Key, canonical, config_hash
from sffa.study.errors import StudyError

Status = Literal["done", "failed"]
Cell = str | int | float | None

# The version of the flat form. A new one is needed when a column changes its meaning.
SCHEMA = 1

METRICS = ("acc", "fgt", "fwt", "bwt", "best", "last", "chosen")
DETAILS = ("matrix", "curve", "per_class", "experiences")
COLUMNS = (
    *("dataset", "scenario", "method", "algorithm", "seed"),
    *METRICS,
    *("seconds", "peak_memory_mb", "status", "version", "schema", "config_hash"),
    *("attempts", "started", "finished", "error", "config"),
    *DETAILS,
    *("environment", "extra"),
)
INTEGERS = {"seed", "schema", "attempts"}
REALS = {*METRICS, "seconds", "peak_memory_mb"}
_JSON = {"config", *DETAILS, "environment", "extra"}
# What a run's own record holds under a name of its own here.
_PLACED = {
    *("dataset", "scenario", "method", "algorithm", "seed", "metrics", "config"),
    *("seconds", "peak_memory_mb", "environment"),
    *DETAILS,
}
_TIMES = {"seconds", "peak_memory_mb", "memory_mb"}


@dataclass(frozen=True)
class Record:
    """One run that is over: what was asked, what came of it, where and when.

    ``metrics`` are in percent; ``details`` hold the accuracy matrix, the curve and the like;
    ``started`` and ``finished`` are UTC in ISO 8601.
    """

    dataset: str
    scenario: str
    method: str
    algorithm: str
    seed: int
    config: dict[str, Any]
    status: Status = "done"
    metrics: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    peak_memory_mb: float | None = None
    version: str = ""
    attempts: int = 1
    started: str = ""
    finished: str = ""
    error: str | None = None

    @property
    def key(self) -> Key:
        """The configuration's hash and the seed."""
        return Key(config_hash(self.config), self.seed)

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Dataset, scenario, method and algorithm."""
        return self.dataset, self.scenario, self.method, self.algorithm

    def outcome(self) -> dict[str, Any]:
        """Return what must be the same whoever computed it and when: all but times and places."""
        parts = (self.cell, self.seed, self.status, self.error)
        content = {"metrics": self.metrics, "details": self.details, "config": self.config}
        return {"parts": parts, **_without_times(content)}

    @classmethod
    def of(cls, result: Mapping[str, Any], **about: Any) -> Record:
        """Make a record of what a run gave, and of what its driver knows about it."""
        details = {name: value for name, value in result.items() if name not in _PLACED}
        details |= {name: result[name] for name in DETAILS if result.get(name) is not None}
        environment = dict(result.get("environment", {}))
        return cls(
            dataset=result["dataset"],
            scenario=result["scenario"],
            method=result["method"],
            algorithm=result["algorithm"],
            seed=int(result["seed"]),
            config=dict(result["config"]),
            metrics=dict(result.get("metrics", {})),
            details=details,
            environment=environment,
            seconds=result.get("seconds"),
            peak_memory_mb=result.get("peak_memory_mb"),
            version=str(environment.get("version", "")),
            **about,
        )

    def cells(self) -> dict[str, Cell]:
        """Return the flat form: a value for each of ``COLUMNS``, JSON where it is structured."""
        named = {name: self.metrics.get(name) for name in METRICS}
        details = {name: self.details.get(name) for name in DETAILS}
        extra = {
            "metrics": {n: v for n, v in self.metrics.items() if n not in METRICS},
            "details": {n: v for n, v in self.details.items() if n not in DETAILS},
        }
        structured = {
            "config": self.config,
            **details,
            "environment": self.environment or None,
            "extra": {n: v for n, v in extra.items() if v} or None,
        }
        flat: dict[str, Cell] = {
            name: None if value is None else canonical(value) for name, value in structured.items()
        }
        for name in COLUMNS:
            if name not in flat and name not in METRICS:
                flat[name] = _plain(self, name)
        flat |= {name: _real(value) for name, value in named.items()}
        return {name: flat[name] for name in COLUMNS}

    @classmethod
    def from_cells(cls, cells: Mapping[str, Cell]) -> Record:
        """Read the flat form back."""
        read: dict[str, Any] = {
            name: None if cells[name] is None else json.loads(str(cells[name])) for name in _JSON
        }
        extra = read.pop("extra") or {}
        if not isinstance(read["config"], dict) or not isinstance(cells["seed"], int):
            raise StudyError("it has no configuration, or no seed")
        metrics = {n: cells[n] for n in METRICS if cells[n] is not None} | extra.get("metrics", {})
        details = {n: value for n in DETAILS if (value := read.pop(n)) is not None}
        plain: dict[str, Any] = {
            name: cells[name]
            for name in COLUMNS
            if name not in (*METRICS, *_JSON, "schema", "config_hash")
        }
        read["environment"] = read["environment"] or {}
        for name in ("version", "started", "finished"):
            plain[name] = plain[name] or ""
        merged = {**details, **extra.get("details", {})}
        record = cls(metrics=metrics, details=merged, **plain, **read)
        if record.key.config_hash != cells["config_hash"]:
            raise StudyError(f"the configuration of {record.cell} does not match its hash")
        return record


def _plain(record: Record, name: str) -> Cell:
    if name == "schema":
        return SCHEMA
    if name == "config_hash":
        return record.key.config_hash
    value: Cell = getattr(record, name)
    return _real(value) if name in REALS else value


def _real(value: Any) -> float | None:
    """Return a number as SQLite can keep it: it has no NaN."""
    return float(value) if value is not None and math.isfinite(value) else None


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: _without_times(v) for n, v in value.items() if n not in _TIMES}
    if isinstance(value, list | tuple):
        return [_without_times(item) for item in value]
    return value
