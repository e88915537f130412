"""Options by the arguments of a class: ``ewc.strength`` is the argument ``strength`` of EWC."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from sffa.errors import ConfigurationError, nearest

# What papers and other libraries call our options.
_OTHER_WORDS = {"lambda": "strength", "lam": "strength", "mem_size": "capacity"}

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def arguments(kind: type, ours: Collection[str]) -> dict[str, Any]:
    """Return the arguments of a class with their defaults, but those that a run gives itself."""
    parameters = inspect.signature(kind).parameters
    return {n: p.default for n, p in parameters.items() if n not in ours and p.kind not in _ANY}


def accepted(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the given arguments that a class takes by their names."""
    parameters = inspect.signature(kind).parameters
    return {name: value for name, value in given.items() if name in parameters}


def takes_any(kind: type) -> bool:
    """Whether a class takes arguments by any name."""
    parameters = inspect.signature(kind).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def differing(made: object, ours: Collection[str]) -> dict[str, Any]:
    """Return the arguments by which an object differs from its class's defaults, if plain values.

    They are read from attributes of the same name.
    """
    given = {
        name: getattr(made, name)
        for name, default in arguments(type(made), ours).items()
        if hasattr(made, name) and getattr(made, name) is not default
    }
    plain = {n: v for n, v in given.items() if isinstance(v, bool | int | float | str | list)}
    return {n: v for n, v in plain.items() if v != arguments(type(made), ours)[n]}


def lacking(kind: type, given: Collection[str]) -> list[str]:
    """Return the arguments that a class needs and nobody gave."""
    parameters = inspect.signature(kind).parameters
    needed = [n for n, p in parameters.items() if p.default is p.empty and p.kind not in _ANY]
    return [name for name in needed if name not in given]


def own(owner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of one owner without its name.

    >>> own("ewc", {"ewc.strength": 10, "replay.capacity": 5})
    {'strength': 10}
    """
    mark = f"{owner}."
    return {k.removeprefix(mark): v for k, v in options.items() if k.startswith(mark)}


def check_options(
    kinds: Mapping[str, type], known: Mapping[str, Collection[str]], options: Mapping[str, Any]
) -> None:
    """Refuse options that no owner has, and values of the wrong type.

    ``kinds`` are the classes by the names of the owners, ``known`` the options of each.
    """
    names = [f"{owner}.{name}" for owner, own in known.items() for name in own]
    for key, value in options.items():
        owner, _, name = key.rpartition(".")
        if key not in names:
            meant = f"{owner}.{_OTHER_WORDS.get(name, name)}"
            hint = f"; did you mean '{meant}'?" if meant in names else nearest(key, names)
            raise ConfigurationError(
                f"unknown option '{key}'{hint} "
                f"(known for {'+'.join(kinds)}: {', '.join(names) or 'none'})"
            )
        start: Any = kinds[owner].__init__  # type: ignore[misc]
        wanted = get_type_hints(start).get(name, Any)
        try:
            TypeAdapter(wanted).validate_python(value, strict=True)
        except ValidationError as error:
            said = error.errors()[0]["msg"].lower()
            raise ConfigurationError(f"option '{key}' = {value!r}: {said}") from None
