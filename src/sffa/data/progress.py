"""A bar of arriving bytes on standard error, for people only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Meter:
    """Is told how many bytes are coming and how many came; this one keeps it to itself."""

    def expect(self, count: int) -> None:
        """Add ``count`` bytes to those announced."""

    def advance(self, count: int) -> None:
        """Add ``count`` bytes to those that arrived."""


class Bar(Meter):
    """A meter that draws a bar."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task, self._announced = progress, task, 0

    def expect(self, count: int) -> None:
        """Lengthen the bar by ``count`` bytes."""
        self._announced += count
        self._progress.update(self._task, total=self._announced)

    def advance(self, count: int) -> None:
        """Fill the bar by ``count`` bytes."""
        self._progress.advance(self._task, count)


@contextmanager
def metered(description: str, show: bool | None = None) -> Iterator[Meter]:
    """Return a meter; ``show=None`` draws it when standard error is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield Meter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield Bar(progress, progress.add_task(description, total=None))
