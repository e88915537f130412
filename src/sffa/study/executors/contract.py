"""The contract of whatever does runs: this process, others, or a cluster."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Protocol

from sffa.record import Record
from sffa.study.configuration import Run


@dataclass(frozen=True)
class Outcome:
    """A run that is over: its record, or its error in one line and in full."""

    run: Run
    record: Record | None = None
    error: str = ""
    detail: str = ""


class Executor(Protocol):
    """Does runs, as many at a time as it has slots; knows nothing of the store."""

    name: str

    def slots(self) -> int:
        """Return how many runs can be under way at once, now."""
        ...

    def start(self, run: Run) -> None:
        """Take a run on; called only while fewer than ``slots`` are under way."""
        ...

    def wait(self, seconds: float) -> list[Outcome]:
        """Wait for runs to be over, not much longer than ``seconds`` where that can be helped."""
        ...

    def stop(self) -> None:
        """Drop what is under way and free everything; may be called twice."""
        ...


def described(error: BaseException) -> tuple[str, str]:
    r"""Return an error in one line, and in full.

    >>> described(ValueError("too small\nby far"))[0]
    'ValueError: too small by far'
    """
    line = " ".join(f"{type(error).__name__}: {error}".split())
    return line, "".join(traceback.format_exception(error))
