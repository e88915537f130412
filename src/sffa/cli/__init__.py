"""The command line: parses, calls one function, prints."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TextIO

from rich.console import Console

from sffa.errors import SFFAError, SFFAWarning

_INTERRUPTED = 130
_LONGEST = 1000


def main(arguments: list[str] | None = None) -> None:
    """Run ``sffa``; whatever a user can get wrong ends as one red line and exit code 2."""
    from typer.exceptions import TyperException
    from typer.main import get_command

    from sffa.cli.app import app

    warnings.showwarning = _show_warning
    try:
        code = get_command(app).main(
            args=sys.argv[1:] if arguments is None else arguments,
            prog_name="sffa",
            standalone_mode=False,
        )
    except TyperException as error:
        formatted = getattr(error, "format_message", None)
        message = formatted() if formatted else str(error)
        if not message:  # a group without a command, whose help has been printed
            sys.exit(2)
        _fail(message, 2)
    except SFFAError as error:
        _fail(str(error), 2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", 2)
    except MemoryError:
        _fail("there is not enough memory for that: make the network or the batches smaller", 2)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        _fail("interrupted", _INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print what sffa warns of in one yellow line, and what others do with its place."""
    ours = issubclass(category, SFFAWarning)
    text = f"warning: {message}" if ours else f"{filename}:{lineno}: {category.__name__}: {message}"
    Console(stderr=True, soft_wrap=True).print(text, style="yellow", markup=False, highlight=False)


def _fail(message: str, code: int) -> None:
    """Print one red line and leave; output that nobody reads any more is not an error."""
    text = " ".join(message.split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    try:
        Console(stderr=True, soft_wrap=True).print(f"error: {text}", style="red", markup=False)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
