"""Classes that a user wrote, named as ``module:Class`` where a built-in name would stand."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from sffa.errors import ConfigurationError, SFFAError, nearest

Kind = TypeVar("Kind")
# What each module was loaded by, and the digest of its source when a class was first taken from it.
# Classes of a script stand for themselves, as a script changes for many reasons.
_SOURCES: dict[str, tuple[object, str]] = {}
_SCRIPT = "__main__"


def is_reference(name: str) -> bool:
    """Whether a name is that of a class in a module, not of a built-in one."""
    return ":" in name


def reference_to(kind: type) -> str:
    """Return the name by which a class is found again, ``module:Class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def at_hand(name: str) -> Any:
    """Return what ``module:Class`` names if its module is imported already, else None.

    What files name is looked up here and never imported: to import is to run code.
    """
    place, _, attribute = name.partition(":")
    return getattr(sys.modules.get(place), attribute, None)


def references(config: Mapping[str, Any]) -> list[str]:
    """Return the classes that a run's configuration names, as ``module:Class``.

    >>> references({"algorithm": "sffa", "method": "replay+ideas:Shrink"})
    ['ideas:Shrink']
    """
    given = [config.get(name) for name in ("algorithm", "method", "stream", "negatives")]
    parts = [part for value in given if isinstance(value, str) for part in value.split("+")]
    return [part for part in parts if is_reference(part)]


def code_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of the source of each module whose class a configuration names.

    It is that of the file as it was imported. What such a module imports in turn is not in it.
    """
    found = {name: _SOURCES.get(_place(name)) for name in references(config)}
    return {name: known[1] for name, known in found.items() if known is not None}


def note_source(kind: type) -> None:
    """Note the source of a class given as an object, so that `code_of` knows it."""
    module = sys.modules.get(kind.__module__)
    if kind.__module__ == _SCRIPT:
        _SOURCES[f"{_SCRIPT}:{kind.__qualname__}"] = kind, _class_digest(kind)
    elif module is not None:
        _note(kind.__module__, module)


def _place(name: str) -> str:
    """Return the name under which the source of ``module:Class`` is noted."""
    module = name.partition(":")[0]
    return name if module == _SCRIPT else module


def _note(place: str, module: ModuleType) -> None:
    """Note the source of a module as it was loaded; once for each time it is."""
    loaded_by = module.__spec__ or module
    if _SOURCES.get(place, (None, ""))[0] is not loaded_by:
        _SOURCES[place] = loaded_by, _module_digest(module)


def _module_digest(module: ModuleType) -> str:
    """Return the SHA-256 of a module's file; of one without a file, of nothing."""
    try:
        content = Path(module.__file__ or "").read_bytes()
    except OSError:
        content = b""
    return hashlib.sha256(content).hexdigest()


def _class_digest(kind: type) -> str:
    """Return the SHA-256 of a class's own lines; of one typed at a prompt, of nothing."""
    try:
        text = inspect.getsource(kind)
    except (OSError, TypeError):
        text = ""
    return hashlib.sha256(text.encode()).hexdigest()


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
        module = importlib.import_module(place)
        _note(place, module)
        return module
    except (SFFAError, Warning):
        raise
    except ImportError as error:
        raise ConfigurationError(f"'{name}': cannot import '{place}': {error}") from None
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigurationError(f"'{name}': '{place}' fails when imported: {told}") from error
