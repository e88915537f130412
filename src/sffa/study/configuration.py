"""A run as data: a complete configuration, its hash, its seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sffa.continual import ContinualConfig
from sffa.continual.streams.registry import find_stream
from sffa.errors import ConfigurationError, nearest
from sffa.record import Key, config_hash
from sffa.study.static import StaticConfig
from sffa.vocabulary import CONTINUAL, SCENARIOS

Config = StaticConfig | ContinualConfig


@dataclass(frozen=True)
class Run:
    """A cell of a grid with a seed.

    >>> from sffa.continual import ContinualConfig
    >>> run = Run(ContinualConfig(dataset="digits", seed=3))
    >>> run.key.seed, len(run.key.config_hash)
    (3, 64)
    """

    config: Config

    @cached_property
    def values(self) -> dict[str, Any]:
        """The whole configuration, JSON-ready."""
        return dict(self.config.model_dump(mode="json"))

    @cached_property
    def key(self) -> Key:
        """The configuration's hash and the seed."""
        return Key(config_hash(self.values), int(self.values["seed"]))

    @property
    def method(self) -> str:
        """The continual method, or the negatives of a static run."""
        return str(self.values["negatives" if self.static else "method"])

    @property
    def needs_data(self) -> bool:
        """Whether it learns from a dataset; a stream of the user's may bring its own examples."""
        return self.static or find_stream(str(self.values.get("stream", "split"))).needs_data

    @property
    def static(self) -> bool:
        """Whether nothing changes over time."""
        return bool(self.values["scenario"] == "static")

    @property
    def cell(self) -> tuple[str, str, str, str]:
        """Dataset, scenario, method and algorithm."""
        values = self.values
        return values["dataset"], values["scenario"], self.method, values["algorithm"]

    def __str__(self) -> str:
        return " ".join((*self.cell, f"seed {self.key.seed}"))


def file_name(run: Run) -> str:
    """Return the name of a run's files; settings other than the paper's add a part of their hash.

    >>> file_name(parse({"scenario": "class", "method": "ewc", "seed": 1}))
    'split-mnist-class-ewc-sffa-1'
    """
    dataset, scenario, method, algorithm = run.cell
    named = {"dataset": dataset, "scenario": scenario, "algorithm": algorithm}
    named |= {"negatives" if run.static else "method": method}
    try:
        usual = parse({**named, "seed": run.key.seed}).key == run.key
    except ConfigurationError:  # a method that needs an option
        usual = False
    short = Path(dataset).stem if "/" in dataset else dataset
    rest = [] if usual else [run.key.config_hash[:8]]
    parts = (short, scenario, method, algorithm, str(run.key.seed), *rest)
    return "-".join(parts).replace(":", ".")


def parse(values: Mapping[str, Any]) -> Run:
    """Make a run of a configuration; what is not given takes the paper's values.

    >>> parse({"scenario": "static", "dataset": "digits"}).values["hidden"]
    [1400, 1400]
    >>> parse({"scenario": "static", "epoch": 3})
    Traceback (most recent call last):
    ...
    sffa.errors.ConfigurationError: unknown option 'epoch'; did you mean 'epochs'?
    """
    scenario = values.get("scenario", "static")
    if scenario == "static":
        return Run(StaticConfig(**values))
    if scenario not in CONTINUAL:
        known = ", ".join(SCENARIOS)
        hint = nearest(str(scenario), list(SCENARIOS))
        raise ConfigurationError(f"unknown scenario '{scenario}'{hint} (known: {known})")
    return Run(ContinualConfig(**values))
