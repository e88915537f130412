"""How loops are compiled, and kept."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

# Sums may be reordered and fused; NaN and infinity keep their meaning.
MATH = {"reassoc", "contract", "nsz", "arcp"}
TINY = 1e-12


class _Announcement(event.Listener):
    """Says once that loops of ours are being compiled: nobody should wonder what takes so long."""

    said = False

    def on_start(self, event: Any) -> None:
        """Hear of a compilation; what is read from the cache is none."""
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.said and getattr(function, "__module__", "").startswith("sffa."):
            self.said = True
            logging.getLogger("sffa").warning(
                "compiling loops for this processor: some ten seconds, once"
            )

    def on_end(self, event: Any) -> None:
        """Hear of the end of one."""


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]


def loop(**options: Any) -> Callable[[Any], Any]:
    """Compile a function. Dividing by zero is no error: a test of it would keep out vectors."""
    return cached(njit, nogil=True, error_model="numpy", **options)


def inlined(function: Any) -> Any:
    """Let a function be compiled as part of each loop that calls it, not by itself besides."""
    return njit(inline="always", nogil=True, error_model="numpy")(function)


def cached(compiler: Callable[..., Any], *given: Any, **options: Any) -> Callable[[Any], Any]:
    """Compile a function and keep the code on disk; where no folder takes it, in memory only."""

    def decorate(function: Any) -> Any:
        try:
            return compiler(*given, cache=True, **options)(function)
        except RuntimeError:  # numba found no folder that it can write
            return compiler(*given, **options)(function)

    return decorate
