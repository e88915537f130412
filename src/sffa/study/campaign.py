"""The campaign: claim runs, have them done, keep their records, until none is missing."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sffa.record import Key
from sffa.study.configuration import Run
from sffa.study.errors import StoreError
from sffa.study.executors import Executor, Outcome
from sffa.study.store.heartbeat import Heartbeat
from sffa.study.store.owner import new_owner
from sffa.study.store.store import LEASE, TRIES, Store

_TICK = 0.25
_PATIENCE_WITH_OTHERS = 1.0


@dataclass
class Progress:
    """Where a campaign stands; ``elsewhere`` are runs that another process holds.

    >>> from sffa.continual import ContinualConfig
    >>> from sffa.study import Run
    >>> progress = Progress([Run(ContinualConfig(seed=seed)) for seed in range(3)])
    >>> progress.total, progress.done
    (3, 0)
    """

    runs: Sequence[Run]
    slots: int = 1
    done: int = 0
    failed: int = 0
    elsewhere: int = 0
    running: dict[Key, tuple[Run, float]] = field(default_factory=dict)
    waiting: list[Run] = field(default_factory=list)
    last: Outcome | None = None

    @property
    def total(self) -> int:
        """How many runs there are in all."""
        return len(self.runs)


class Campaign:
    """Do those of ``runs`` that the store lacks, in their order.

    Parameters
    ----------
    store, runs, executor
        Where records are kept, what is wanted, and who does it.
    on_change
        Told of the progress whenever a run starts or ends, and now and then between.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig
    >>> from sffa.study import Campaign, Run, Store, make_executor
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> with Store("runs.sqlite") as store:
    ...     _ = Campaign(store, [Run(config)], make_executor("serial", threads=1)).go()
    ...     len(store.records())
    1
    """

    def __init__(
        self,
        store: Store,
        runs: Sequence[Run],
        executor: Executor,
        *,
        on_change: Callable[[Progress], object] | None = None,
        lease: float = LEASE,
        tries: int = TRIES,
    ) -> None:
        self.store = store
        self.executor = executor
        self.owner = new_owner()
        self.progress = Progress(list(runs))
        self._on_change = on_change or (lambda progress: None)
        self._lease = lease
        self._tries = tries

    def go(self) -> Progress:
        """Work until every run is done or failed; whatever interrupts it, claims are given back."""
        try:
            with Heartbeat(self.store.path, self.owner, self._lease):
                self._look()
                while self.progress.waiting or self.progress.running or self.progress.elsewhere:
                    self._fill()
                    self._collect()
                    self._look()
        finally:
            self.executor.stop()
            with contextlib.suppress(StoreError):
                self.store.release(self.owner)
        return self.progress

    def _look(self) -> None:
        """See in the store what is done, failed, held by others, and still to do."""
        statuses = self.store.statuses()
        progress = self.progress
        progress.slots = max(1, self.executor.slots())
        progress.done = progress.failed = progress.elsewhere = 0
        progress.waiting = []
        for run in progress.runs:
            status = statuses.get(run.key, "waiting")
            progress.done += status == "done"
            progress.failed += status == "failed"
            progress.elsewhere += status == "running" and run.key not in progress.running
            if status == "waiting":
                progress.waiting.append(run)
        self._on_change(progress)

    def _fill(self) -> None:
        """Claim and start as many runs as there are free slots."""
        progress = self.progress
        while len(progress.running) < self.executor.slots():
            run = self._claim()
            if run is None:
                return
            self.executor.start(run)
            progress.running[run.key] = (run, time.monotonic())
            self._on_change(progress)

    def _claim(self) -> Run | None:
        """Take the next run; those that others hold are tried too, as their owner may be gone."""
        progress = self.progress
        if not progress.waiting and not progress.elsewhere:
            return None
        candidates = [run for run in progress.runs if run.key not in progress.running]
        return self.store.claim(candidates, self.owner, self._lease)

    def _collect(self) -> None:
        """Wait a moment, and keep the records of the runs that are over."""
        progress = self.progress
        if not progress.running:
            time.sleep(_PATIENCE_WITH_OTHERS)
            return
        for outcome in self.executor.wait(_TICK):
            del progress.running[outcome.run.key]
            if outcome.record is not None:
                self.store.finish(outcome.run, self.owner, outcome.record)
            else:
                self.store.fail(outcome.run, self.owner, outcome.error, outcome.detail, self._tries)
            progress.last = outcome
            self._on_change(progress)
