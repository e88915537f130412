"""Several processes of this machine, each with its share of the cores."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from sffa.record import Record
from sffa.study.configuration import Run
from sffa.study.executors.contract import Outcome
from sffa.study.executors.worker import work
from sffa.study.threads import layout, variables


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    run: Run | None = None


class Local:
    """Do runs in worker processes; one that dies is replaced, and its run reported as failed."""

    name = "local"

    def __init__(
        self,
        workers: int | None = None,
        threads: int | None = None,
        unfinished: Path | None = None,
    ) -> None:
        self.workers, self.threads = layout(workers, threads)
        self.unfinished = unfinished
        self._crew: list[_Worker] = []

    def slots(self) -> int:
        """Return the number of workers."""
        return self.workers

    def pids(self, *, busy: bool = False) -> list[int]:
        """Return the process numbers of the workers, or of those that do a run."""
        kept = [worker for worker in self._crew if worker.run is not None or not busy]
        return [worker.process.pid for worker in kept if worker.process.pid is not None]

    def start(self, run: Run) -> None:
        """Hand the run to an idle worker, or to a new one."""
        worker = next((w for w in self._crew if w.run is None), None) or self._hire()
        worker.run = run
        # A worker that died idle is found by `wait`, which then reports this run.
        with contextlib.suppress(OSError):
            worker.pipe.send_bytes(json.dumps(run.values).encode())

    def wait(self, seconds: float) -> list[Outcome]:
        """Collect answers and deaths."""
        busy = {worker.pipe: worker for worker in self._crew if worker.run is not None}
        dead = {worker.process.sentinel: worker for worker in self._crew}
        ready = wait([*busy, *dead], seconds)
        outcomes = [self._answer(busy[item]) for item in ready if item in busy]
        for worker in (dead[item] for item in ready if item in dead):
            if worker.run is not None:
                outcomes.append(self._death(worker, worker.run))
            self._dismiss(worker)
        return outcomes

    def stop(self) -> None:
        """Kill all workers."""
        for worker in list(self._crew):
            worker.process.kill()
            self._dismiss(worker)

    def _answer(self, worker: _Worker) -> Outcome:
        assert worker.run is not None
        try:
            answer = json.loads(worker.pipe.recv_bytes())
        except (EOFError, OSError):
            outcome = self._death(worker, worker.run)
        else:
            given = answer.pop("record", None)
            record = None if given is None else Record.from_json(given)
            outcome = Outcome(worker.run, record, **answer)
        worker.run = None
        return outcome

    def _death(self, worker: _Worker, run: Run) -> Outcome:
        worker.process.join(10)
        code = worker.process.exitcode
        how = f"with exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = f"of {signal.Signals(-code).name}"
        return Outcome(run, None, f"WorkerDied: the worker process died {how}")

    def _dismiss(self, worker: _Worker) -> None:
        worker.process.join(10)
        worker.pipe.close()
        self._crew.remove(worker)

    def _hire(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        given = theirs, self.threads, self.unfinished
        process = context.Process(target=work, args=given, daemon=True)
        with _inherited(variables(self.threads)):
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._crew.append(worker)
        return worker


@contextlib.contextmanager
def _inherited(variables: dict[str, str]) -> Iterator[None]:
    """Let a child begin with these variables, and deaf to Ctrl-C, which is for the parent."""
    before = {name: os.environ.get(name) for name in variables}
    main = threading.current_thread() is threading.main_thread()
    os.environ.update(variables)
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
