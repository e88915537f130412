"""Show the doctests of docstrings as code: they stand in them without a heading of their own."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    r"""Return a docstring with its doctests between fences.

    >>> fenced("Add.\n\n>>> 1 + 1\n2").splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        starts, ends = line.lstrip().startswith(">>> "), not line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        if starts and not inside:
            lines += [f"{indent}```pycon"]
            margin, inside = indent, True
        if ends and inside:
            lines += [f"{margin}```"]
            inside = False
        lines.append(line)
    return "\n".join(lines).rstrip()


class Doctests(griffe.Extension):
    """Rewrites every docstring before it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put fences around the doctests of one object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
