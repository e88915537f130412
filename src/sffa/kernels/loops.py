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

BESIDE = "sffa-compile"  # the thread that waits for another process to compile
kept_on_disk = True  # whether numba found a folder for what it compiles
# Loops need no torch, which the package of the kernels would import.
_PROGRAM = """
import sys
sys.path[:] = {path!a}
package = sys.modules["sffa.kernels"] = type(sys)("sffa.kernels")
package.__path__ = [{folder!a}]
from sffa.kernels import ahead, loops
loops.first_compilation.heard = True
ahead.compile_last()
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
        logging.getLogger("sffa").warning(
            "compiling loops for this processor: some ten seconds, once"
        )
        if _can_share():
            with contextlib.suppress(RuntimeError):  # no thread to be had
                threading.Thread(target=_compile_beside, name=BESIDE, daemon=True).start()

    def on_end(self, event: Any) -> None:
        """Hear of the end of one."""


def _can_share() -> bool:
    """Whether another process can compile too, and is of use: not beside many that do the same."""
    interpreter = Path(sys.executable or "").name.lower().startswith("python")
    frozen = getattr(sys, "frozen", False)  # then the executable is the user's program
    one = os.environ.get("OMP_NUM_THREADS") == "1"
    return kept_on_disk and interpreter and not frozen and not one and cores() > 1


def _compile_beside() -> None:
    """Have a process compile what a step needs last; this one finds it in numba's cache."""
    path = [each for each in sys.path if isinstance(each, str)]
    program = _PROGRAM.format(path=path, folder=str(Path(__file__).parent))
    nothing = subprocess.DEVNULL
    with contextlib.suppress(OSError):  # without it, this process compiles everything
        subprocess.run(
            [sys.executable, "-P", "-c", program],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            check=False,
        )


first_compilation = _FirstCompilation()
event.register("numba:compile", first_compilation)  # type: ignore[no-untyped-call]


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
