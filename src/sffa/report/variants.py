"""Variants: configurations of one cell, named by what differs from the cell's preset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sffa.core import NetworkConfig
from sffa.errors import ConfigurationError
from sffa.extension import is_reference
from sffa.record import Record
from sffa.study.configuration import parse

_NAMED = ("dataset", "scenario", "method", "algorithm")


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


def settings(run: Record) -> dict[str, Any]:
    """Return the configuration without what names the cell and without seeds."""
    return {
        key: value
        for key, value in flat(run.config).items()
        if key.rsplit(".", 1)[-1] != "seed" and key not in _NAMED
    }


def deviations(run: Record) -> dict[str, Any]:
    """Return what a run was asked that its preset does not ask; nothing is imported for it."""
    usual = _usual(run)
    own = settings(run)
    return {
        key: value
        for key, value in own.items()
        if not (run.static and key == "negatives")  # which are the method of a static run
        and _text(value) != _text(usual.get(key, _default(key)))
    }


def common(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings that all have, with the same value.

    >>> common([{"lr": 0.1, "k": 5}, {"lr": 0.2, "k": 5}])
    {'k': 5}
    """
    first, *others = each or [{}]
    return {
        key: value
        for key, value in first.items()
        if all(key in other and _text(other[key]) == _text(value) for other in others)
    }


def written(values: Mapping[str, Any]) -> str:
    """Write settings in a line.

    >>> written({"network.k": 5, "lr": 0.001})
    'lr=0.001, network.k=5'
    """
    return ", ".join(f"{key}={values[key]}" for key in sorted(values))


def variant_names(firsts: Sequence[Record]) -> list[str]:
    """Name the configurations of one cell by their deviations; the preset's own, or a sole one: "".

    Two that would share a name are told apart by all in which they differ.
    """
    if len(firsts) == 1:
        return [""]
    names = [written(deviations(run)) for run in firsts]
    if len({*names}) == len(names):
        return names
    configs = [settings(run) for run in firsts]
    keys = sorted({key for config in configs for key in config})
    differing = [key for key in keys if len({_text(c.get(key)) for c in configs}) > 1]
    plain = ", ".join(f"{key} by default" for key in differing)
    return [
        ", ".join(f"{key}={config[key]}" for key in differing if key in config) or plain
        for config in configs
    ]


def _usual(run: Record) -> dict[str, Any]:
    """Return the settings of the preset; a class of the user's stands where its own would."""
    method = "negatives" if run.static else "method"
    algorithm = "sffa" if is_reference(run.algorithm) else run.algorithm
    named = {"dataset": run.dataset, "scenario": run.scenario, "algorithm": algorithm}
    if run.method and not is_reference(run.method):
        named[method] = run.method
    try:
        return flat(parse(named).values)
    except ConfigurationError:  # of another program, or a method that needs an option
        return {}


def _default(key: str) -> Any:
    """Return the default of an option of networks, which presets need not repeat."""
    first, _, name = key.partition(".")
    field = NetworkConfig.model_fields.get(name) if first == "network" else None
    return None if field is None or field.is_required() else field.default


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
