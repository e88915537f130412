"""What a campaign looks like while it lasts: a live view on a terminal, else a line a run."""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from sffa.study import Estimator, Progress, Record
from sffa.study.estimate import duration

_SHOWN = 8
_WIDTH = 60


class LiveView:
    """Show done, running and failed runs and the remaining time; called with the progress."""

    def __init__(self, name: str, records: Iterable[Record], console: Console) -> None:
        self.name = name
        self.console = console
        self.estimator = Estimator(records)
        self._progress: Progress | None = None
        self._seen: object = None
        self._live = Live(
            console=console, get_renderable=self.render, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Take note of where the campaign stands."""
        self._progress = progress
        last = progress.last
        if last is None or last is self._seen:
            return
        self._seen = last
        if last.record is not None:
            seconds = last.record.seconds or 0.0
            self.estimator.add(last.run.values, seconds)
            said = f"acc {last.record.metrics['acc']:.2f}, {duration(seconds)}"
        else:
            said = f"failed: {last.error}"
        if last.record is None or not self.console.is_terminal:
            self.console.print(f"{last.run}: {said}", soft_wrap=True, markup=False, highlight=False)

    def remaining(self, progress: Progress) -> str:
        """Return the remaining time in words, as far as anything is known."""
        running = list(progress.running.values())
        left = [*progress.waiting, *(run for run, _ in running)]
        seconds, unknown = self.estimator.total(left, progress.slots)
        if unknown == len(left):
            return "?" if left else duration(0)
        now = time.monotonic()
        spent = sum(now - started for _, started in running)
        return duration(max(0.0, seconds - spent / progress.slots))

    def render(self) -> Group:
        """Return what is shown on a terminal."""
        progress = self._progress
        if progress is None:
            return Group(Text(f"{self.name}: starting"))
        over = progress.done + progress.failed
        counts = f"{self.name}: {progress.done} of {progress.total} done, "
        counts += f"{len(progress.running)} running, {progress.failed} failed"
        if progress.elsewhere:
            counts += f", {progress.elsewhere} in other processes"
        counts += f", {self.remaining(progress)} left"
        now = time.monotonic()
        lines = [
            Text(f"  {run}  {duration(now - started)}", style="dim")
            for run, started in list(progress.running.values())[:_SHOWN]
        ]
        filled = _WIDTH * over // max(progress.total, 1)
        bar = Text.assemble(("━" * filled, "green"), ("━" * (_WIDTH - filled), "dim"))
        return Group(Text(counts), bar, *lines)


def wide_console() -> Console:
    """Return a console that does not cut tables where nobody watches: in files and pipes."""
    console = Console()
    return console if console.is_terminal else Console(width=160)
