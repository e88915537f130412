"""Classes that a user wrote, named as ``module:Class`` where a built-in name would stand."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from types import ModuleType
from typing import TypeVar

from sffa.errors import ConfigurationError, SFFAError, nearest

Kind = TypeVar("Kind")


def is_reference(name: str) -> bool:
    """Whether a name is that of a class in a module, not of a built-in one."""
    return ":" in name


def import_class(name: str, base: type[Kind]) -> type[Kind]:
    """Import the class that ``name`` says, a subclass of ``base``.

    Modules are also looked for in the working directory, where a user's script lies. Modules of
    this package that have moved are found under their old names too, with a warning.
    """
    place, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*place.split("."), attribute)):
        raise ConfigurationError(f"'{name}' is not of the form module:Class")
    module = _imported(name, place)
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


def _imported(name: str, place: str) -> ModuleType:
    """Import a module; whatever goes wrong in it is one line that names it."""
    with contextlib.suppress(OSError):  # the working directory may have been removed
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
    try:
        return importlib.import_module(place)
    except (SFFAError, Warning):
        raise
    except ImportError as error:
        raise ConfigurationError(f"'{name}': cannot import '{place}': {error}") from None
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigurationError(f"'{name}': '{place}' fails when imported: {told}") from error
