"""A user's own classes, named as ``module:Class`` where a built-in name would stand."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TypeVar

from sffa.errors import ConfigurationError, nearest

Kind = TypeVar("Kind")


def is_reference(name: str) -> bool:
    """Whether a name is that of a class of the user's own."""
    return ":" in name


def import_class(name: str, base: type[Kind]) -> type[Kind]:
    """Import the class that ``name`` says, a subclass of ``base``.

    Modules are also looked for in the working directory, where a script of one's own lies.
    """
    place, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*place.split("."), attribute)):
        raise ConfigurationError(f"'{name}' is not of the form module:Class")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(place)
    except ImportError as error:
        raise ConfigurationError(f"'{name}': cannot import '{place}': {error}") from None
    found = getattr(module, attribute, None)
    if not (isinstance(found, type) and issubclass(found, base)):
        there = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and issubclass(value, base) and value is not base
        ]
        raise ConfigurationError(
            f"'{name}': module '{place}' has no {base.__name__} named '{attribute}'"
            f"{nearest(attribute, there)}"
        )
    return found
