"""Text of users on the terminal: shown as it is, never taken for markup."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def plain(text: object) -> Text:
    """Return words that Rich shows as they are, also where they look like its markup.

    >>> plain("[/red] and [bold]").plain
    '[/red] and [bold]'
    """
    return Text(str(text))


def say(console: Console, text: str, style: str = "") -> None:
    """Print one line as it is."""
    console.print(text, style=style, soft_wrap=True, markup=False, highlight=False)
