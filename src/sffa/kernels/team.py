"""One thread for small work, and threads of our own for many products at once.

torch wakes its threads for each product and each large tensor, and they spin for milliseconds
after it. A small step is faster without: torch's parallelism is switched off for the calling thread
alone, and others in the process notice nothing. And FFA under many labels is many products of the
same size, which are faster side by side than one after the other on all threads.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

LEAST = 2_000_000  # multiply-adds that are worth a thread: about a millisecond of one
_Part = Callable[[int], object]


class _Limits:
    """How many threads torch's operations take in the calling thread: OpenMP's and MKL's count."""

    def __init__(self) -> None:
        path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
        library = ctypes.CDLL(str(path))  # finds what torch was linked with, too
        self._set_openmp = library.omp_set_num_threads
        self._set_mkl = library.MKL_Set_Num_Threads_Local

    def set(self, openmp: int, mkl: int) -> int:
        """Set both for this thread and return what MKL had; 0 is MKL's number for the process."""
        self._set_openmp(openmp)
        return int(self._set_mkl(mkl))


class _Worker(threading.Thread):
    """Waits for a part to do."""

    def __init__(self, limits: _Limits | None, number: int) -> None:
        super().__init__(name=f"sffa-{number}", daemon=True)
        self._limits = limits
        self._begin, self._end = threading.Lock(), threading.Lock()
        self._begin.acquire()
        self._end.acquire()
        self._task: Callable[[], object] = int
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        torch.set_grad_enabled(False)
        torch.get_num_threads()  # sets the thread's number, which then stays as it is set here
        if self._limits is not None:
            self._limits.set(1, 1)
            _team.caller.threads, _team.caller.loops = 1, True
        while True:
            self._begin.acquire()
            try:
                self._task()
            except BaseException as error:
                self._error = error
            self._end.release()

    def begin(self, task: Callable[[], object]) -> None:
        self._task, self._error = task, None
        self._begin.release()

    def wait(self) -> BaseException | None:
        self._end.acquire()
        self._task = int
        return self._error


class _Team:
    """The workers of this process, started when first needed."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self.workers: list[_Worker] = []
        # What torch may use in a thread that is limited, and whether compiled loops are too.
        self.caller = threading.local()
        try:
            self.limits: _Limits | None = _Limits()
        except (OSError, AttributeError):  # torch without MKL or OpenMP: its products stay its own
            self.limits = None

    def run(self, function: _Part, parts: int) -> None:
        while len(self.workers) < parts - 1:
            self.workers.append(_Worker(self.limits, len(self.workers) + 1))
        helpers = self.workers[: parts - 1]
        for number, worker in enumerate(helpers, 1):
            worker.begin(lambda part=number: function(part))  # type: ignore[misc]
        try:
            function(0)
        finally:
            errors = [worker.wait() for worker in helpers]
        for error in errors:
            if error is not None:
                raise error


_team = _Team()


def _forget() -> None:
    """Start anew in a forked process, which has none of its parent's threads."""
    global _team
    _team = _Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def threads() -> int:
    """Return how many threads torch may use here, whether or not it is limited just now."""
    return getattr(_team.caller, "threads", None) or torch.get_num_threads()


def loop_threads() -> int:
    """Return how many threads a compiled loop may use here."""
    return 1 if getattr(_team.caller, "loops", False) else threads()


def limits_torch() -> bool:
    """Whether torch can be kept to one thread for the calling thread alone."""
    return _team.limits is not None


def limited() -> bool:
    """Whether torch's operations are kept on this thread: inside `one_thread`."""
    return bool(getattr(_team.caller, "threads", None))


@contextmanager
def one_thread(*, loops: bool = True) -> Iterator[None]:
    """Keep torch's operations, and compiled ``loops``, on the calling thread.

    `run` still uses as many as it may.
    """
    team, wanted = _team, threads()
    if team.limits is None or limited():
        yield
        return
    team.caller.threads, team.caller.loops = wanted, loops
    before = team.limits.set(1, 1)
    try:
        yield
    finally:
        team.limits.set(wanted, before)
        team.caller.threads, team.caller.loops = None, False


def parts_for(work: int, size: int) -> int:
    """Return into how many parts to cut ``size`` rows that take ``work`` multiply-adds."""
    if work < 2 * LEAST:
        return 1
    return max(1, min(threads(), work // LEAST, size))


def run(function: Callable[[int, int], object], size: int, work: int) -> None:
    """Call ``function(first, last)`` for parts of ``size`` rows, side by side if it is worth it."""
    parts = parts_for(work, size)
    if parts == 1 or not _team.busy.acquire(blocking=False):
        function(0, size)
        return
    try:
        with one_thread():
            _team.run(lambda i: function(i * size // parts, (i + 1) * size // parts), parts)
    finally:
        _team.busy.release()
