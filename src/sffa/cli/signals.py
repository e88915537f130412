"""Ctrl-C, SIGTERM and a closed terminal: nothing that was done is lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

_POLITE = ("SIGTERM", "SIGHUP")


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Treat SIGTERM and a closed terminal as Ctrl-C."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with _handling(_POLITE, stop):
        yield


@contextlib.contextmanager
def stop_requests() -> Iterator[list[int]]:
    """Yield a list that Ctrl-C or SIGTERM adds to; the second time it interrupts at once."""
    asked: list[int] = []

    def ask(number: int, frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    with _handling(("SIGINT", *_POLITE), ask):
        yield asked


@contextlib.contextmanager
def _handling(names: tuple[str, ...], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle signals within; outside the main thread whoever owns that decides."""
    if threading.current_thread() is not threading.main_thread():
        names = ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
