"""A grid: a base configuration, axes to vary, seeds; and the order its runs are done in."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from sffa.continual import METHODS, STREAMS, ContinualConfig
from sffa.core import PRESETS, NetworkConfig
from sffa.core.config import Strict
from sffa.data import names as dataset_names
from sffa.errors import ConfigurationError, nearest
from sffa.extension import is_reference
from sffa.study.configuration import Run, parse
from sffa.study.static import NEGATIVES, StaticConfig
from sffa.vocabulary import CONTINUAL

MOST_SEEDS = 100_000


class Override(Strict):
    """Values that a cell takes when it has others."""

    when: dict[str, Any]
    set: dict[str, Any]

    def without(self, name: str) -> Override:
        """Return this override with one field, and what is in it, left alone."""
        rest = {k: v for k, v in self.set.items() if k != name and not k.startswith(f"{name}.")}
        return Override(when=self.when, set=rest)


class Grid(Strict):
    """Cells as the product of axes over a base; dotted names reach into ``network``.

    Examples
    --------
    >>> grid = Grid(base={"scenario": "static"}, axes={"lr": [1e-3, 1e-4], "network.k": [5, 15]})
    >>> [(cell["lr"], cell["network"]) for cell in grid.cells()][:2]
    [(0.001, {'k': 5}), (0.001, {'k': 15})]
    """

    base: dict[str, Any] = Field(default_factory=dict)
    axes: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)
    overrides: list[Override] = Field(default_factory=list)

    @model_validator(mode="after")
    def _without_seed(self) -> Self:
        if "seed" in {*self.base, *self.axes}:
            raise ValueError('seeds are not an axis: give seeds = "0-9", or --seeds 0-9')
        return self

    @property
    def static(self) -> bool:
        """Whether the cells are static runs."""
        return "static" in self.values_of("scenario", ["static"])

    def values_of(self, name: str, default: Sequence[Any] = ()) -> list[Any]:
        """Return the values that a field takes over the grid."""
        if name in self.axes:
            return list(self.axes[name])
        return [self.base[name]] if name in self.base else list(default)

    def varying(self, name: str, values: Sequence[Any]) -> Grid:
        """Return this grid with other values of one field; overrides of that field no longer count.

        The negatives of back-propagation, which has none, are no choice and stay.
        """
        base = {key: value for key, value in self.base.items() if key != name}
        overrides = self.overrides
        if name != "negatives":
            overrides = [o.without(name) for o in overrides]
        axes = {**self.axes, name: list(values)}
        return self.model_copy(update={"base": base, "axes": axes, "overrides": overrides})

    def field(self, name: str) -> str:
        """Return the place of an option: those of networks and methods need no prefix.

        >>> Grid().field("k"), Grid().field("epochs"), Grid().field("ewc.strength")
        ('network.k', 'epochs', 'options.ewc.strength')
        """
        run = StaticConfig if self.static else ContinualConfig
        if name in run.model_fields or name.startswith(("options.", "network.")):
            return name
        if name in NetworkConfig.model_fields:
            return f"network.{name}"
        owned = name.partition(".")[0] in {*METHODS, *STREAMS}
        return f"options.{name}" if owned or is_reference(name) else name

    def completed(self) -> Grid:
        """Return this grid with every option in its place, and a scenario.

        Without one it is a stream of classes if anything in it belongs to streams alone, and
        static otherwise.

        >>> grid = Grid(base={"method": "replay"}, axes={"k": [5, 15]}).completed()
        >>> grid.base["scenario"], list(grid.axes)
        ('class', ['network.k'])
        """
        streams = {*ContinualConfig.model_fields} - {*StaticConfig.model_fields}
        static = {*StaticConfig.model_fields} - {*ContinualConfig.model_fields}
        named = {*self.base, *self.axes}
        split = any(str(name).startswith("split-") for name in self.values_of("dataset"))
        base: dict[str, Any] = {}
        if "scenario" not in named and not named & static and (split or named & streams):
            base["scenario"] = "class"
        placed = Grid(base={**base, **self.base}, axes=self.axes)
        for name, value in self.base.items():
            _place(base, placed.field(name), value)
        axes = {placed.field(name): values for name, values in self.axes.items()}
        overrides = [
            Override(
                when={placed.field(name): value for name, value in override.when.items()},
                set={placed.field(name): value for name, value in override.set.items()},
            )
            for override in self.overrides
        ]
        return Grid(base=base, axes=axes, overrides=overrides)

    def cells(self) -> list[dict[str, Any]]:
        """Return the configurations, without seeds, in the order of the axes."""
        found = []
        for values in itertools.product(*self.axes.values()):
            cell = copy.deepcopy(self.base)
            for name, value in zip(self.axes, values, strict=True):
                _place(cell, name, value)
            for override in self.overrides:
                if all(_look(cell, name) == value for name, value in override.when.items()):
                    for name, value in override.set.items():
                        _place(cell, name, value)
            found.append(cell)
        return found


@dataclass(frozen=True)
class Study:
    """Grids under one name, with the seeds they share.

    >>> grid = Grid(base={"scenario": "class"}, axes={"method": ["naive", "replay"]})
    >>> len(Study("two", (grid,), seeds=(0, 1, 2)).runs())
    6
    """

    name: str
    grids: tuple[Grid, ...]
    seeds: tuple[int, ...] = (0,)

    def runs(self) -> list[Run]:
        """Return every run once; seeds are outermost, so that stopping early leaves whole seeds."""
        runs: dict[Any, Run] = {}
        for seed in self.seeds:
            for grid in self.grids:
                for cell in grid.cells():
                    run = parse({**cell, "seed": seed})
                    runs.setdefault(run.key, run)
        return list(runs.values())

    def restricted(
        self, seeds: Sequence[int] | None = None, **filters: Sequence[str] | None
    ) -> Study:
        """Return the study with only some datasets, scenarios, methods, algorithms or seeds.

        A value that no grid has is added where it can be: to static grids those of static runs, to
        continual grids those of continual runs.
        """
        grids: tuple[Grid, ...] = self.grids
        for name, wanted in filters.items():
            if wanted:
                grids = tuple(_restrict(grids, name, list(wanted)))
        return replace(self, grids=grids, seeds=tuple(seeds) if seeds else self.seeds)

    def varying(self, settings: Mapping[str, Sequence[Any]]) -> Study:
        """Return the study with some fields set, or swept over several values."""
        grids = self.grids
        for name, values in settings.items():
            if name == "seed":
                raise ConfigurationError("seeds are swept with --seeds, for example --seeds 0-9")
            grids = tuple(grid.varying(grid.field(name), values) for grid in grids)
        return replace(self, grids=grids)


def seeds(text: str) -> tuple[int, ...]:
    """Read seeds as numbers and ranges.

    >>> seeds("0-3,7")
    (0, 1, 2, 3, 7)
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not _is_seed(first) or (dash and not _is_seed(last)):
            raise ConfigurationError(
                f"cannot read seeds '{text[:80]}'; write them as 0-9 or 0,1,5, below 2**63"
            )
        span = range(int(first), int(last or first) + 1)
        if len(span) + len(found) > MOST_SEEDS:
            raise ConfigurationError(f"'{text[:80]}' are more than {MOST_SEEDS:,} seeds")
        found += span
    if not found:
        raise ConfigurationError(f"'{text}' holds no seed; write them as 0-9 or 0,1,5")
    return tuple(dict.fromkeys(found))


def _is_seed(text: str) -> bool:
    return text.isdecimal() and len(text) < 20 and int(text) < 2**63


def _place(cell: dict[str, Any], name: str, value: Any) -> None:
    """Set a field of a cell; ``network.k`` is the field ``k`` of ``network``."""
    first, dot, rest = name.partition(".")
    if dot:
        inner = cell.get(first) or {}
        if not isinstance(inner, dict):
            raise ConfigurationError(f"unknown option '{name}': '{first}' has no parts")
        inner = dict(inner)
        inner[rest] = value
        cell[first] = inner
    elif isinstance(value, dict) and isinstance(cell.get(name), dict):
        cell[name] = {**cell[name], **value}
    else:
        cell[name] = value


def _look(cell: Mapping[str, Any], name: str) -> Any:
    """Return a field of a cell; ``network.k`` is the field ``k`` of ``network``."""
    first, dot, rest = name.partition(".")
    if not dot:
        return cell.get(name)
    inner = cell.get(first)
    return inner.get(rest) if isinstance(inner, dict) else None


def _restrict(grids: Iterable[Grid], name: str, wanted: list[str]) -> list[Grid]:
    all_, kept, met = list(grids), [], set()
    planned = {value for grid in all_ for value in grid.values_of(_field(name, grid))}
    for grid in all_:
        field = _field(name, grid)
        own = grid.values_of(field)
        known = [*own, *_known(name, grid.static)]
        own_fits = name == "algorithm" or (name == "method" and not grid.static)
        values = [
            value
            for value in wanted
            if all(part in known or (own_fits and is_reference(part)) for part in value.split("+"))
            and (value in own or value not in planned)
        ]
        met |= set(values)
        if values:
            kept.append(grid.varying(field, values))
    for value in wanted:
        if value not in met:
            known = sorted({k for static in {g.static for g in all_} for k in _known(name, static)})
            hint = nearest(value, known)
            other = value in {*_known(name, True), *_known(name, False)}
            what = f"{name} '{value}' does not go with this study" if other else ""
            what = what or f"unknown {name} '{value}'"
            raise ConfigurationError(f"{what}{hint} (known: {', '.join(known)})")
    return kept


def _field(name: str, grid: Grid) -> str:
    """Return the field that a filter looks at: of static runs the method is their negatives."""
    return "negatives" if name == "method" and grid.static else name


def _known(name: str, static: bool) -> list[str]:
    if name == "dataset":
        return [given if static else f"split-{given}" for given in dataset_names()]
    if name == "scenario":
        return ["static"] if static else list(CONTINUAL)
    if name == "method":
        return list(NEGATIVES if static else METHODS)
    return list(PRESETS)
