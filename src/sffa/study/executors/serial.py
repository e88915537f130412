"""One run after another, in this process."""

from __future__ import annotations

from pathlib import Path

from sffa.environment import cores
from sffa.study.configuration import Run
from sffa.study.execute import execute
from sffa.study.executors.contract import Outcome, described
from sffa.study.threads import limit


class Serial:
    """Do runs here, with all cores unless told otherwise."""

    name = "serial"

    def __init__(self, threads: int | None = None, unfinished: Path | None = None) -> None:
        self.threads = threads or cores()
        self.unfinished = unfinished
        self._run: Run | None = None

    def slots(self) -> int:
        """Return one: this process."""
        return 1

    def start(self, run: Run) -> None:
        """Keep the run for `wait`, which does it."""
        self._run = run

    def wait(self, seconds: float) -> list[Outcome]:
        """Do the run, however long it takes."""
        run, self._run = self._run, None
        if run is None:
            return []
        try:
            limit(self.threads)
            return [Outcome(run, execute(run.values, self.unfinished))]
        except Exception as error:
            return [Outcome(run, None, *described(error))]

    def stop(self) -> None:
        """Forget a run that was not begun."""
        self._run = None
