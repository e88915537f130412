"""Sweeps by hand: a TOML file, or ``name=value,value`` on the command line."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from sffa.core.config import Strict
from sffa.errors import ConfigurationError
from sffa.extension import references
from sffa.files import reading
from sffa.study.grid import Grid, Override, Study, seeds
from sffa.study.presets import ALIASES, STUDIES

_DEEPEST = 20
_NESTED = 200
"""Brackets of one value, at most; none of ours needs as many."""


class _Sweep(Strict):
    name: str | None = None
    seeds: str | int | list[int] = "0"
    base: dict[str, Any] = Field(default_factory=dict)
    axes: dict[str, list[Any]] = Field(default_factory=dict)
    overrides: list[Override] = Field(default_factory=list)


def read_study_file(
    path: str | os.PathLike[str], allow_imports: bool | Collection[str] = False
) -> Study:
    r"""Read a study from a TOML file with ``seeds``, ``[base]``, ``[axes]``, ``[[overrides]]``.

    A class of the user's that the file names is imported, and with it code runs, only with
    ``allow_imports``: True, or the names that are allowed.

    >>> from pathlib import Path
    >>> path = Path("lr.toml")
    >>> text = 'name = "lr"\nseeds = "0-2"\n[base]\ndataset = "digits"\nmethod = "naive"\n'
    >>> written = path.write_text(text + "[axes]\nlr = [1e-3, 1e-2]\n")
    >>> study = read_study_file(path)
    >>> study.name, len(study.runs())
    ('lr', 6)
    """
    with reading(path, ConfigurationError) as file:
        content = file.read()
    try:
        values = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not TOML: {str(error)[:200]}") from error
    if _depth(values) > _DEEPEST:
        raise ConfigurationError(f"{path} is nested more than {_DEEPEST} deep")
    sweep = _Sweep(**values)
    given = sweep.seeds if isinstance(sweep.seeds, list) else [sweep.seeds]
    name = sweep.name or Path(path).stem
    if name in {*STUDIES, *ALIASES, "all"}:
        raise ConfigurationError(f"{path}: '{name}' is a study of sffa's own; name yours otherwise")
    if allow_imports is not True:
        _check_imports(path, sweep, allow_imports or ())
    grid = Grid(base=sweep.base, axes=sweep.axes, overrides=sweep.overrides).completed()
    return Study(name, (grid,), seeds(",".join(map(str, given))))


def _check_imports(path: str | os.PathLike[str], sweep: _Sweep, allowed: Collection[str]) -> None:
    """Refuse classes of the user's that only the file names."""
    parts = [sweep.base, *(override.set for override in sweep.overrides)]
    parts += [{name: value} for name, values in sweep.axes.items() for value in values]
    for name in (name for part in parts for name in references(part)):
        if name not in allowed:
            raise ConfigurationError(
                f"{path} names the class '{name[:80]}', and to import it runs code: allow that "
                "with --allow-imports, or name the class on the command line"
            )


def _depth(value: Any) -> int:
    """Return how deep tables and lists are nested, without recursion."""
    level, depth = [value], 0
    while level:
        inner = [list(v.values()) if isinstance(v, dict) else v for v in level]
        level = [item for held in inner if isinstance(held, list) for item in held]
        depth += bool(level)
    return depth


def settings(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Read ``name=value`` and ``name=value,value``; values are JSON, or else plain words.

    >>> settings(["epochs=1,2", "hidden=[100,100]", "negatives=hard"])
    {'epochs': [1, 2], 'hidden': [[100, 100]], 'negatives': ['hard']}
    """
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, given = text.partition("=")
        if not equals or not name.strip() or not given.strip():
            raise ConfigurationError(
                f"cannot read '{text[:80]}'; write name=value, or name=value,value to sweep"
            )
        found[name.strip()] = [value_of(part) for part in _split(given)]
    return found


def _split(text: str) -> list[str]:
    """Split at the commas that are outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def value_of(text: str) -> Any:
    """Return the value of a setting: JSON where it can be, otherwise text.

    >>> value_of("[1, 2]"), value_of("hard")
    ([1, 2], 'hard')
    """
    if sum(map(text.count, "[{")) > _NESTED:
        raise ConfigurationError(f"a value has more than {_NESTED} brackets: '{text[:20]}…'")
    try:
        return json.loads(text)
    except ValueError:
        return text
