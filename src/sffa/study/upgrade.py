"""Records of earlier versions brought to today's words and today's normal form.

A run is known by the hash of its configuration. So a configuration that was written before an
option was renamed or added is parsed again, and takes the present names and defaults: the record
then has the key that the same run has today.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from sffa.continual.config import current_options
from sffa.core.config import current_names
from sffa.errors import DataError, SFFAError
from sffa.extension import is_reference
from sffa.record import SCHEMA, Record, Value, canonical, config_hash
from sffa.study.configuration import parse

Item = TypeVar("Item")
READABLE = (1, SCHEMA)
_METRICS = {"chosen": "val_selected"}
# Every complete configuration has had these; another program's may lack some, and is left alone.
_COMPLETE = {
    *("dataset", "scenario", "algorithm", "seed", "epochs", "batch_size", "lr", "hidden"),
    "network",
}


def present_columns(cells: Mapping[str, Item]) -> dict[str, Item]:
    """Return the cells of any readable format under the present names of their columns."""
    return {_METRICS.get(name, name): value for name, value in cells.items()}


def upgraded(record: Record) -> Record:
    """Return a record with its metrics and its configuration as they are written today."""
    metrics = current_names(dict(record.metrics), _METRICS, quiet=True)
    return replace(record, metrics=metrics, config=present_config(record.config))


def from_json(given: Mapping[str, Any]) -> Record:
    """Read the JSON form of any version."""
    return upgraded(Record.from_json(given))


def from_cells(cells: Mapping[str, Value]) -> Record:
    """Read the flat form of any version; the stored hash is checked before anything changes."""
    return upgraded(Record.from_cells(present_columns(cells)))


def upgraded_cells(cells: Mapping[str, Value]) -> dict[str, Value]:
    """Return the flat form, of a finished run or not, with its configuration and key of today."""
    try:
        config = json.loads(str(cells["config"]))
        matches = config_hash(config) == cells["config_hash"]
    except (ValueError, AttributeError, RecursionError):
        matches = False
    if not matches:
        raise DataError("a configuration does not match its hash")
    config = present_config(config)
    config_key: dict[str, Value] = {"config_hash": config_hash(config), "schema": SCHEMA}
    return {**present_columns(cells), "config": canonical(config), **config_key}


def present_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a complete configuration in today's normal form.

    One that cannot be parsed stays as it is, and so does one that names a user's class whose
    module is not imported yet: what is read must not run code.
    """
    own = [*_own_classes(config)]
    if not {*config} >= _COMPLETE or any(name.partition(":")[0] not in sys.modules for name in own):
        return config
    rest = {name: value for name, value in config.items() if name != "seed"}
    present = _present if own else _kept_present  # a user's class may be another the next time
    text = present(canonical(rest))
    return config if text is None else {**json.loads(text), "seed": config["seed"]}


def _own_classes(value: Any) -> Iterator[str]:
    """Yield the users' classes that a configuration names."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _own_classes(part)
    elif isinstance(value, str):
        yield from filter(is_reference, value.split("+"))


def _present(text: str) -> str | None:
    """Return the normal form of a configuration without its seed; None if it does not parse."""
    try:
        config = current_options(json.loads(text))
        if config["scenario"] == "static" and config["algorithm"] == "ffa":
            config["network"].setdefault("scale", "mean")  # what it was before records said it
        values = parse({**config, "seed": 0}).values
    except (SFFAError, AttributeError, TypeError, KeyError, ValueError, RecursionError):
        return None
    del values["seed"]
    return canonical(values)


_kept_present = functools.lru_cache(maxsize=4096)(_present)
