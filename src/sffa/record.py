"""The outcome of a run, static or continual: the one form that is kept, carried and reported."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from sffa.errors import DataError

Status = Literal["done", "failed"]
Value = str | int | float | None

# The version of the flat form. A new one is needed when a column changes its meaning.
SCHEMA = 2

METRICS = ("acc", "fgt", "fwt", "bwt", "best", "last", "val_selected")
DETAILS = ("matrix", "curve", "per_class", "experiences")
_NAMES = ("dataset", "scenario", "method", "algorithm", "seed")
_ABOUT = ("attempts", "started", "finished", "error")
COLUMNS = (
    *_NAMES,
    *METRICS,
    *("seconds", "peak_memory_mb", "status", "version", "schema", "config_hash"),
    *_ABOUT,
    "config",
    *DETAILS,
    *("environment", "extra"),
)
INTEGERS = {"seed", "schema", "attempts"}
REALS = {*METRICS, "seconds", "peak_memory_mb"}
_JSON = {"config", *DETAILS, "environment", "extra"}
# What the JSON form holds beside the details, which stand at its top as well.
_PLACED = {
    *(*_NAMES, *_ABOUT, "status", "metrics", "config", "environment"),
    *("seconds", "peak_memory_mb", "version", "schema"),
}
_TIMES = {"seconds", "peak_memory_mb", "memory_mb"}


class Key(NamedTuple):
    """What a run is known by in a store.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> len(record.key.config_hash), record.key.seed
    (64, 0)
    """

    config_hash: str
    seed: int


@dataclass(frozen=True)
class Record:
    """One run that is over: what was asked, what came of it, where and when.

    ``metrics`` are finite and in percent; ``details`` hold the accuracy matrix, the curve and the
    like; ``started`` and ``finished`` are UTC in ISO 8601. Only a record that sffa did not write
    may lack a seed.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> record.method, record.seed, record.done
    ('naive', 0, True)
    >>> Record.from_cells(record.cells()).metrics == record.metrics
    True
    """

    dataset: str
    scenario: str
    method: str
    algorithm: str
    seed: int | None
    config: dict[str, Any]
    status: Status = "done"
    metrics: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    peak_memory_mb: float | None = None
    version: str = ""
    attempts: int = 1
    started: str = ""
    finished: str = ""
    error: str | None = None

    @cached_property
    def config_hash(self) -> str:
        """The hash of the configuration without its seed."""
        return config_hash(self.config)

    @property
    def key(self) -> Key:
        """The configuration's hash and the seed."""
        if self.seed is None:
            raise DataError(f"the record of {self} has no seed: a study cannot keep it")
        return Key(self.config_hash, self.seed)

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Dataset, scenario, method and algorithm."""
        return self.dataset, self.scenario, self.method, self.algorithm

    @property
    def static(self) -> bool:
        """Whether all classes came at once."""
        return self.scenario == "static"

    @property
    def done(self) -> bool:
        """Whether the run came to its end, with a number to show."""
        return self.status == "done" and bool(self.metrics)

    def __str__(self) -> str:
        return " ".join((*self.cell, f"seed {'?' if self.seed is None else self.seed}"))

    def outcome(self) -> dict[str, Any]:
        """Return what must be the same whoever computed it and when: all but times and places."""
        parts = (self.cell, self.seed, self.status, self.error)
        content = {"metrics": self.metrics, "details": self.details, "config": self.config}
        return {"parts": parts, **_without_times(content)}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, which ``--json`` prints and ``runs/*.json`` holds."""
        return {
            **{name: getattr(self, name) for name in (*_NAMES, "status", "metrics")},
            **self.details,
            **{name: getattr(self, name) for name in ("config", "seconds", "peak_memory_mb")},
            **{name: getattr(self, name) for name in (*_ABOUT, "version", "environment")},
            "schema": SCHEMA,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Record:
        """Read the JSON form, also one that another program wrote.

        What is missing is taken from the configuration, or else unknown; what is no number is no
        metric.

        >>> Record.from_json({"dataset": "mnist", "status": "failed", "seed": 0}).done
        False
        """
        if not isinstance(given, Mapping):
            raise DataError(f"a record is a JSON object, got {str(given)[:40]!r}")
        config, environment = _mapping(given, "config"), _mapping(given, "environment")
        about = {**config, **{name: value for name, value in given.items() if value is not None}}
        scenario = str(about.get("scenario") or "static")
        seed, attempts = _whole(about.get("seed")), _whole(given.get("attempts"))
        return cls(
            dataset=str(about.get("dataset") or "unknown"),
            scenario=scenario,
            method=str(about.get("method") or ("" if scenario == "static" else "naive")),
            algorithm=str(about.get("algorithm") or "unknown"),
            seed=seed,
            config=config,
            status="done" if str(given.get("status", "done")) == "done" else "failed",
            metrics=finite(_mapping(given, "metrics")),
            details={n: v for n, v in given.items() if n not in _PLACED and v is not None},
            environment=environment,
            seconds=number(given.get("seconds")),
            peak_memory_mb=number(given.get("peak_memory_mb")),
            version=str(given.get("version") or environment.get("version", "")),
            attempts=1 if attempts is None else attempts,
            started=str(given.get("started") or ""),
            finished=str(given.get("finished") or ""),
            error=str(given["error"]) if given.get("error") else None,
        )

    def cells(self) -> dict[str, Value]:
        """Return the flat form: a value for each of ``COLUMNS``, JSON where it is structured."""
        extra = {
            "metrics": {n: v for n, v in self.metrics.items() if n not in METRICS},
            "details": {n: v for n, v in self.details.items() if n not in DETAILS},
        }
        structured = {
            "config": self.config,
            **{name: self.details.get(name) for name in DETAILS},
            "environment": self.environment or None,
            "extra": {n: v for n, v in extra.items() if v} or None,
        }
        flat: dict[str, Value] = {
            name: None if value is None else canonical(value) for name, value in structured.items()
        }
        flat |= {name: number(self.metrics.get(name)) for name in METRICS}
        flat |= {"schema": SCHEMA, "config_hash": self.key.config_hash}
        for name in COLUMNS:
            if name not in flat:
                value = getattr(self, name)
                flat[name] = number(value) if name in REALS else value
        try:
            "".join(value for value in flat.values() if isinstance(value, str)).encode()
        except UnicodeEncodeError:
            raise DataError(f"the record of {self!s:.80} holds text that is no Unicode") from None
        return {name: flat[name] for name in COLUMNS}

    @classmethod
    def from_cells(cls, cells: Mapping[str, Value]) -> Record:
        """Read the flat form back; what is not of its type is a ``DataError``."""
        read = {name: _parsed(name, cells[name]) for name in _JSON}
        extra = _sections(read.pop("extra"))
        config, environment = read.pop("config"), read.pop("environment")
        if not isinstance(config, dict) or not _is_seed(cells["seed"]):
            raise DataError("it has no configuration, or no seed")
        if not isinstance(environment or {}, dict):
            raise DataError("its environment is no object")
        metrics = {n: cells[n] for n in METRICS if cells[n] is not None} | extra["metrics"]
        if {*finite(metrics)} != {*metrics}:
            raise DataError("a metric is no finite number")
        plain: dict[str, Any] = {
            name: _typed(name, cells[name])
            for name in COLUMNS
            if name not in (*METRICS, *_JSON, "schema", "config_hash")
        }
        details = {n: value for n, value in read.items() if value is not None}
        merged = {**{n: details[n] for n in DETAILS if n in details}, **extra["details"]}
        about: dict[str, Any] = {"config": config, "environment": environment or {}}
        record = cls(metrics=metrics, details=merged, **plain, **about)
        try:
            known = record.config_hash
        except (ValueError, RecursionError):
            known = ""
        if known != cells["config_hash"]:
            raise DataError(f"the configuration of {record} does not match its hash")
        return record


def _parsed(name: str, cell: Value) -> Any:
    """Read a structured cell."""
    if cell is None:
        return None
    try:
        return json.loads(str(cell))
    except (ValueError, RecursionError) as error:
        raise DataError(f"its {name} is not JSON: {error}") from None


def _sections(extra: Any) -> dict[str, dict[str, Any]]:
    """Return the further metrics and details, each a mapping by name."""
    given = {} if extra is None else extra
    parts: list[Any] = [None]
    if isinstance(given, dict):
        parts = [given.get(name, {}) for name in ("metrics", "details")]
    if not all(isinstance(part, dict) for part in parts):
        raise DataError("its extra is not of metrics and details")
    return dict(zip(("metrics", "details"), parts, strict=True))


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _typed(name: str, cell: Value) -> Value:
    """Return a plain cell if it is of its column's type."""
    if name in REALS:
        if cell is not None and number(cell) is None:
            raise DataError(f"its {name} is no finite number")
        return cell
    if name in INTEGERS:
        if not _is_seed(cell):
            raise DataError(f"its {name} is no whole number")
        return cell
    if cell is not None and not isinstance(cell, str):
        raise DataError(f"its {name} is no text")
    if name == "status" and cell not in ("done", "failed"):
        raise DataError(f"status {cell!r}")
    return cell if cell is not None or name == "error" else ""


def canonical(value: Any) -> str:
    """Write JSON in the one way that hashing needs: sorted keys, no spaces.

    >>> canonical({"b": 1, "a": (0.1, None)})
    '{"a":[0.1,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def config_hash(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a configuration without its seed, as 64 hexadecimal digits.

    >>> config_hash({"lr": 0.1, "seed": 0}) == config_hash({"seed": 1, "lr": 0.1})
    True
    """
    rest = {name: value for name, value in values.items() if name != "seed"}
    return hashlib.sha256(canonical(rest).encode()).hexdigest()


def number(value: Any) -> float | None:
    """Return a finite number, or None for whatever is none: SQLite and JSON have no NaN.

    >>> number(1.5), number(float("nan")), number("1.5")
    (1.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond what a float holds
        return None


def _whole(value: Any) -> int | None:
    """Return a whole number that a store can keep, or None."""
    found = number(value)
    if found is None or not found.is_integer() or not _is_seed(int(value)):
        return None
    return int(value)


def finite(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return those metrics that are numbers.

    >>> finite({"acc": 90.5, "fgt": float("nan"), "note": "x"})
    {'acc': 90.5}
    """
    return {str(n): v for n, given in metrics.items() if (v := number(given)) is not None}


def _mapping(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = given.get(name)
    return dict(value) if isinstance(value, Mapping) else {}


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: _without_times(v) for n, v in value.items() if n not in _TIMES}
    if isinstance(value, list | tuple):
        return [_without_times(item) for item in value]
    return value
