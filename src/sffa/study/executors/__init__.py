"""Where runs are done: here, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

from pathlib import Path

from sffa.errors import ConfigurationError, nearest
from sffa.study.executors.contract import Executor, Outcome
from sffa.study.threads import layout

EXECUTORS = ("serial", "local", "ray")

__all__ = ["EXECUTORS", "Executor", "Outcome", "check_executor", "make_executor"]


def make_executor(
    name: str = "local",
    *,
    workers: int | None = None,
    threads: int | None = None,
    address: str | None = None,
    unfinished: Path | None = None,
) -> Executor:
    """Make an executor by its name.

    ``unfinished`` is a folder on this machine where static runs that are cut off wait for the next
    executor; runs on a cluster begin anew.

    >>> type(make_executor("serial", threads=1)).__name__
    'Serial'
    """
    check_executor(name, workers, threads, address)
    if name == "serial":
        from sffa.study.executors.serial import Serial

        return Serial(threads, unfinished)
    if name == "local":
        from sffa.study.executors.local import Local

        return Local(workers, threads, unfinished)
    from sffa.study.executors.cluster import Cluster

    return Cluster(address, workers, threads)


def check_executor(
    name: str, workers: int | None, threads: int | None, address: str | None
) -> None:
    """Refuse what no executor can be made of."""
    if name not in EXECUTORS:
        known = ", ".join(EXECUTORS)
        hint = nearest(name, list(EXECUTORS))
        raise ConfigurationError(f"unknown executor '{name}'{hint} (known: {known})")
    if address is not None and name != "ray":
        raise ConfigurationError(f"an address is for the ray executor, not for '{name}'")
    layout(workers, threads)
