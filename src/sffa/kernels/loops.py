"""How loops are compiled, and kept."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event

from sffa.environment import cores

# Sums may be reordered and fused; NaN and infinity keep their meaning.
MATH = {"reassoc", "contract", "nsz", "arcp"}
TINY = 1e-12


_BESIDE = "SFFA_COMPILES_BESIDE"  # set in a process that compiles for another
# Loops need no torch, which the package of the kernels would import.
_PROGRAM = """
import sys, types
sys.path[:] = {path!r}
package = sys.modules["sffa.kernels"] = types.ModuleType("sffa.kernels")
package.__path__ = [{folder!r}]
from sffa.kernels.ahead import compile_last
compile_last()
"""


class _FirstCompilation(event.Listener):
    """Says once that loops of ours are being compiled, and has another process do some of it."""

    heard = False

    def on_start(self, event: Any) -> None:
        """Hear of a compilation; what is read from the cache is none."""
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        if self.heard or not getattr(function, "__module__", "").startswith("sffa."):
            return
        self.heard = True
        if _BESIDE not in os.environ:
            logging.getLogger("sffa").warning(
                "compiling loops for this processor: some ten seconds, once"
            )
            if kept_on_disk and cores() > 1:
                threading.Thread(target=_compile_beside, daemon=True).start()

    def on_end(self, event: Any) -> None:
        """Hear of the end of one."""


def _compile_beside() -> None:
    """Have a process compile what a step needs last; this one finds it in numba's cache."""
    text = _PROGRAM.format(path=sys.path, folder=str(Path(__file__).parent))
    program = [sys.executable, "-c", text]
    environment = {**os.environ, _BESIDE: "1"}
    nothing = subprocess.DEVNULL
    with contextlib.suppress(OSError):  # without it, this process compiles everything
        subprocess.run(
            program, env=environment, stdin=nothing, stdout=nothing, stderr=nothing, check=False
        )


event.register("numba:compile", _FirstCompilation())  # type: ignore[no-untyped-call]
kept_on_disk = True


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
            global kept_on_disk
            kept_on_disk = False
            return compiler(*given, **options)(function)

    return decorate
