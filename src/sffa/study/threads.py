"""How many workers, and how many threads each, so that cores are not oversubscribed."""

from __future__ import annotations

from typing import NamedTuple

from sffa.environment import cores
from sffa.study.errors import StudyError

# What the libraries below torch and numba read once, when they are loaded.
_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class Layout(NamedTuple):
    """Processes, and threads in each."""

    workers: int
    threads: int


def layout(workers: int | None = None, threads: int | None = None, available: int = 0) -> Layout:
    """Share the cores: what is not told follows from what is; by default one thread a worker.

    >>> layout(available=8)
    Layout(workers=8, threads=1)
    >>> layout(workers=2, available=8), layout(threads=4, available=8)
    (Layout(workers=2, threads=4), Layout(workers=2, threads=4))
    """
    for name, value in (("workers", workers), ("threads", threads)):
        if value is not None and value < 1:
            raise StudyError(f"{name} must be at least 1, got {value}")
        check_threads(value or 1, name)
    available = available or cores()
    if workers is None:
        workers = max(1, available // (threads or 1))
    if threads is None:
        threads = max(1, available // workers)
    return Layout(workers, threads)


def check_threads(count: int, name: str = "threads") -> None:
    """Refuse more threads, or workers, than any machine has use for."""
    most = max(256, 8 * cores())
    if count > most:
        raise StudyError(f"{name} must be at most {most} here, got {str(count)[:40]}")


def variables(threads: int) -> dict[str, str]:
    """Return the environment of a process that shall use so many threads."""
    return dict.fromkeys(_VARIABLES, str(threads))


def limit(threads: int) -> None:
    """Hold torch, and with it the kernels, of this process to so many threads."""
    import torch

    torch.set_num_threads(threads)
