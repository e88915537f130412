"""What one surface of the library is to the driver."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

OURS = (
    *("idx", "npz", "images", "archives", "arrays", "tables"),
    *("model", "lite", "checkpoint", "csv_file", "store", "toml", "records"),
)
"""The surfaces that ``python -m fuzz`` runs if none is named; each is a module of this package."""


@dataclass(frozen=True)
class Surface:
    """How a case is made, and how the library reads it.

    ``make`` takes a generator and an empty folder, and returns what ``read`` is called with,
    often the path of the file it wrote. The same generator makes the same case. ``prepare`` runs
    once, before the first case and without limits.
    """

    make: Callable[[Random, Path], Any]
    read: Callable[[Any], object]
    prepare: Callable[[], object] = lambda: None


def surface(name: str) -> Surface:
    """Return ``SURFACE`` of the module ``fuzz.<name>``, or of ``name`` itself if it has dots."""
    module = importlib.import_module(name if "." in name else f"fuzz.{name}")
    found = module.SURFACE
    assert isinstance(found, Surface)
    return found


def generator(name: str, seed: int, number: int) -> Random:
    """Return the generator of one case."""
    return Random(f"{name}/{seed}/{number}")
