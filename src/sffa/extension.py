"""What a user wrote, named as ``module:Class`` where a built-in name would stand.

The parts of a network and of its training (goodness, label code, objective, negatives, optimiser,
step sizes) may be given as classes or objects too. The name of an object tells the arguments that
its class does not have by default: ``ideas:Polar(scale=2.0)``.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from sffa.errors import ConfigurationError, ModelFileError, SFFAError, nearest

Kind = TypeVar("Kind")
LONGEST_NAME = 500
# Where a configuration may name a class; those of the second row are fields of its network.
_NAMING = ("algorithm", "method", "stream", "negatives", "optimizer", "lr_schedule")
NETWORK_PARTS = ("goodness", "codes", "objective")
_UNTOLD = "(…)"  # in place of arguments that no name can tell
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# What each module was loaded by, and the digest of its source when a class was first taken from it.
# Classes of a script stand for themselves, as a script changes for many reasons.
_SOURCES: dict[str, tuple[object, str]] = {}
_SCRIPT = "__main__"


def is_reference(name: str) -> bool:
    """Whether a name is that of a class in a module, not of a built-in one."""
    return ":" in name


def reference_to(kind: Any) -> str:
    """Return the name by which a class is found again, ``module:Class``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def at_hand(name: str) -> Any:
    """Return what ``module:Class`` names if its module is imported already, else None.

    What files name is looked up here and never imported: to import is to run code.
    """
    place, _, attribute = _bare(name).partition(":")
    return getattr(sys.modules.get(place), attribute, None)


def check_at_hand(what: str, name: str | None) -> None:
    """Refuse a file's part whose class is not imported."""
    if name is not None and is_reference(name) and at_hand(name) is None:
        raise ModelFileError(
            f"it needs the {what} '{name[:80]}': import its module first (sffa --import MODULE …)"
        )


def references(config: Mapping[str, Any]) -> list[str]:
    """Return the classes that a run's configuration names, as ``module:Class``.

    >>> references({"algorithm": "sffa", "method": "replay+ideas:Shrink"})
    ['ideas:Shrink']
    >>> references({"network": {"goodness": "ideas:Polar(scale=2.0)"}})
    ['ideas:Polar']
    """
    network = config.get("network")
    given = [config.get(name) for name in _NAMING]
    for name in NETWORK_PARTS:
        given += [config.get(name), config.get(f"network.{name}")]
        given += [network.get(name)] if isinstance(network, Mapping) else []
    parts = [part for value in given if isinstance(value, str) for part in _bare(value).split("+")]
    return [part for part in parts if is_reference(part)]


def code_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of the source of each module whose class a configuration names.

    It is that of the file as it was imported. What such a module imports in turn is not in it.
    """
    found = {name: _SOURCES.get(_place(name)) for name in references(config)}
    return {name: known[1] for name, known in found.items() if known is not None}


def note_source(kind: Any) -> None:
    """Note the source of a class or function given as an object, so that `code_of` knows it."""
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


def _class_digest(kind: Any) -> str:
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
    found: type[Kind] = _import(name, base, lambda value: _is_kind(value, base))
    return found


def _import(name: str, base: type, fits: Callable[[Any], bool]) -> Any:
    """Import what ``name`` says, if it fits."""
    place, _, attribute = name.partition(":")
    if "<lambda>" in attribute or "<locals>" in attribute:
        raise ConfigurationError(
            f"'{name[:80]}': a configuration names its parts, and a lambda or what is defined "
            "inside a function has no name to find it by: define it at the top of a module"
        )
    if not all(part.isidentifier() for part in (*place.split("."), attribute)):
        raise ConfigurationError(f"'{name[:80]}' is not of the form module:Class")
    module = _imported(name, place)
    found = getattr(module, attribute, None)
    if not fits(found):
        there = [key for key, value in vars(module).items() if fits(value) and value is not base]
        raise ConfigurationError(
            f"'{name}': module '{place}' has no {base.__name__} named '{attribute}'"
            f"{nearest(attribute, there)}"
        )
    return found


def _is_kind(value: Any, base: type) -> bool:
    return isinstance(value, type) and issubclass(value, base)


def import_module(name: str) -> None:
    """Import a module of the user's, so that what files name in it is at hand."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise ConfigurationError(f"'{name[:80]}' is not the name of a module")
    _imported(name, name)


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


def part_of(given: Any, what: str, base: type[Kind], known: Sequence[str] = ()) -> str | Kind:
    """Return a part: one of the ``known`` names, or the object that a name, a class or one is."""
    if isinstance(given, str) and not is_reference(given):
        if given in known:
            return given
        hint, names = nearest(given, list(known)), ", ".join((*known, "your own: module:Class"))
        raise ConfigurationError(f"unknown {what} '{given[:80]}'{hint}; known: {names}")
    found, options = taken_apart(given, what, base)
    part: Any = partial(found, **options) if options else found
    return made(what, part) if isinstance(found, type) else part  # type: ignore[no-any-return]


def taken_apart(
    given: Any, what: str, base: type, *, functions: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Return the class (or the object, or the function) that a part is, and its arguments."""

    def fits(value: Any) -> bool:
        return _is_kind(value, base) or isinstance(value, base) or (functions and isfunction(value))

    found: Any = given
    options: dict[str, Any] = {}
    if isinstance(given, str):
        name, options = _parsed(given)
        found = _import(name, base, fits)
    elif isinstance(given, partial) and not given.args:
        found, options = given.func, dict(given.keywords)
    if not fits(found) or (options and not _has_name(found)):
        raise ConfigurationError(
            f"{what} must be a class, an object or the module:Class of some {base.__name__}, got "
            f"{str(given)[:80]!r}"
        )
    note_source(found if _has_name(found) else type(found))
    return found, options


def made(what: str, kind: Callable[..., Kind], /, *given: Any, **options: Any) -> Kind:
    """Call a class; what it refuses is one line that names it."""
    try:
        return kind(*given, **options)
    except SFFAError:
        raise
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ConfigurationError(f"{what} {_bare(name_of(kind))} cannot be used: {told}") from error


def name_of(part: Any) -> str:
    """Return what configurations and records call a part.

    Arguments of an object are read from attributes of the same names.

    >>> class Polar:
    ...     def __init__(self, scale=1.0):
    ...         self.scale = scale
    >>> [name_of(part).rpartition(":")[2] for part in ("adam", Polar, Polar(), Polar(2.0))]
    ['adam', 'Polar', 'Polar', 'Polar(scale=2.0)']
    """
    if isinstance(part, str):
        return part
    if isinstance(part, partial):
        return reference_to(part.func) + _written(part.keywords if not part.args else None)
    if _has_name(part):
        return reference_to(part)
    return reference_to(type(part)) + _written(_arguments(part))


def kept_name(what: str, part: Any) -> str:
    """Return the name of a part as a file has it; refuse one that would not come back."""
    name = name_of(part)
    if isinstance(part, str):
        return name
    source = part.func if isinstance(part, partial) else part
    if at_hand(name) is not (source if _has_name(source) else type(source)):
        raise ModelFileError(
            f"{what} {name[:80]} cannot be kept in a file, which would not find it again: define "
            "it in a module"
        )
    if name.endswith(_UNTOLD) or len(name) > LONGEST_NAME:
        raise ModelFileError(
            f"{what} {name[:80]} cannot be kept in a file: its arguments must be plain values, "
            "kept as attributes of the same names"
        )
    return name


def _has_name(part: Any) -> bool:
    """Whether a part is a class or a function, which has a name of its own."""
    return isinstance(part, type) or hasattr(part, "__qualname__")


def _bare(name: str) -> str:
    """Return a part's name without its arguments."""
    return name.partition("(")[0]


def _arguments(part: Any) -> dict[str, Any] | None:
    """Return the arguments by which an object differs from its class's defaults; None: unknown."""
    try:
        parameters = inspect.signature(type(part)).parameters.values()
    except (TypeError, ValueError):  # a class of C, which does not say
        return None
    if any(each.kind in _ANY or not hasattr(part, each.name) for each in parameters):
        return None
    values = {each.name: (getattr(part, each.name), each.default) for each in parameters}
    return {name: value for name, (value, usual) in values.items() if repr(value) != repr(usual)}


def _written(options: Mapping[str, Any] | None) -> str:
    """Return arguments as they follow the name of a class."""
    if options is None:
        return _UNTOLD
    text = ", ".join(f"{name}={value!r}" for name, value in options.items())
    try:
        back = _parsed(f":({text})")[1] if options else {}
    except ConfigurationError:
        return _UNTOLD
    return _UNTOLD if back != dict(options) else f"({text})" if text else ""


def _parsed(name: str) -> tuple[str, dict[str, Any]]:
    """Return the class that a part's name says, and the arguments, which are plain values."""
    bare = _bare(name)
    if bare == name:
        return name, {}
    try:
        if len(name) > LONGEST_NAME:
            raise ValueError
        call: Any = ast.parse(f"f{name[len(bare) :]}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise ValueError
        return bare, {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise ConfigurationError(
            f"'{name[:80]}' is not of the form module:Class(name=value)"
        ) from None
