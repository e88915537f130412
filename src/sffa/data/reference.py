"""A dataset in one string: a name or a path, and how to read it behind ``#``.

``table.csv#target=label``, ``photos#size=32x32&skip-unreadable``: what a record or a model file
says of its data is enough to read them again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from sffa.errors import ConfigurationError, nearest

_KNOWN = ["target", "size", "skip-unreadable"]


@dataclass(frozen=True)
class Reference:
    """What to read, and how: the column of labels, the size of images, and whether all must be.

    >>> str(Reference("photos", size=(32, 24), skip_unreadable=True))
    'photos#size=32x24&skip-unreadable'
    >>> Reference.parsed("table.csv#target=the%20label").target
    'the label'
    """

    place: str
    target: str | None = None
    size: tuple[int, int] | None = None
    skip_unreadable: bool = False

    def __str__(self) -> str:
        told = [] if self.target is None else [f"target={quote(self.target, safe='')}"]
        told += [] if self.size is None else [f"size={self.size[0]}x{self.size[1]}"]
        told += ["skip-unreadable"] if self.skip_unreadable else []
        return f"{self.place}#{'&'.join(told)}" if told else self.place

    @classmethod
    def parsed(cls, text: str) -> Reference:
        """Read a reference; a path that exists as it stands has nothing behind it."""
        place, sign, told = text.rpartition("#")
        if not sign or os.path.lexists(text):
            return cls(text)
        options = dict(parse_qsl(told, keep_blank_values=True))
        for name in options:
            if name not in _KNOWN:
                raise ConfigurationError(
                    f"unknown option '{name[:40]}' of a dataset{nearest(name, _KNOWN)} "
                    f"(known: {', '.join(_KNOWN)})"
                )
        size = None if "size" not in options else size_of(options["size"])
        return cls(place, options.get("target"), size, "skip-unreadable" in options)


def size_of(text: str) -> tuple[int, int]:
    """Read the width and height of images.

    >>> size_of("32"), size_of("32x24")
    ((32, 32), (32, 24))
    """
    width, _, height = text.partition("x")
    sides = width, height or width
    if not all(side.isdecimal() and 0 < int(side) < 10_000 for side in sides):
        raise ConfigurationError(f"a size looks like 32 or 32x24, got '{text[:40]}'")
    return int(sides[0]), int(sides[1])
