"""The streams by name, and their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sffa.continual.options import (
    accepted,
    arguments,
    check_options,
    differing,
    lacking,
    own,
    takes_any,
)
from sffa.continual.stream import AnyStream, Stream
from sffa.continual.streams.blurry import Blurry
from sffa.continual.streams.partition import Partition
from sffa.continual.streams.repetition import Repetition
from sffa.continual.streams.task_free import TaskFree
from sffa.continual.streams.transformed import Permuted, Rotated
from sffa.errors import ConfigurationError, nearest
from sffa.extension import import_class, is_reference

STREAMS: dict[str, type[AnyStream]] = {
    "split": Stream,
    "repetition": Repetition,
    "blurry": Blurry,
    "task-free": TaskFree,
    "permuted": Permuted,
    "rotated": Rotated,
    "partition": Partition,
}
_COMMON = ("data", "scenario", "seed", "experiences", "class_order", "holdout", "batch_size")


def find_stream(name: str) -> type[AnyStream]:
    """Return the class of a stream; ``module:Class`` is one of the user's own."""
    if is_reference(name):
        return import_class(name, AnyStream)
    if name not in STREAMS:
        raise ConfigurationError(
            f"unknown stream '{name}'{nearest(name, list(STREAMS))} "
            f"(known: {', '.join(STREAMS)}; your own: module:Class)"
        )
    return STREAMS[name]


def stream_options(name: str) -> dict[str, Any]:
    """Return the options of a stream with their defaults.

    >>> stream_options("blurry")
    {'overlap': 0.1, 'to': 'all'}
    """
    return arguments(find_stream(name), _COMMON)


def check_stream(name: str, options: Mapping[str, Any]) -> None:
    """Refuse a stream and options that do not exist, and values of the wrong type."""
    check_options({name: find_stream(name)}, {name: stream_options(name)}, options)


def make_stream(name: str, options: Mapping[str, Any] | None = None, **common: Any) -> AnyStream:
    """Make the stream of a name; ``common`` are the arguments of `Stream`.

    >>> from sffa.data import load
    >>> len(make_stream("permuted", data=load("digits"), scenario="domain", seed=0, experiences=8))
    8
    """
    kind = find_stream(name)
    chosen = own(name, options or {})
    given = common if takes_any(kind) else accepted(kind, common)
    missing = lacking(kind, {*chosen, *given})
    if missing:
        raise ConfigurationError(f"stream '{name}' needs the option '{name}.{missing[0]}'")
    return kind(**given, **chosen)


def describe_stream(stream: AnyStream) -> tuple[str, dict[str, Any]]:
    """Return the name and the options by which a configuration names a stream."""
    kind = type(stream)
    known = [name for name, cls in STREAMS.items() if cls is kind]
    name = known[0] if known else f"{kind.__module__}:{kind.__qualname__}"
    options = differing(stream, _COMMON) if known else {}
    return name, {f"{name}.{option}": value for option, value in options.items()}
