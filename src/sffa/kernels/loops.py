"""How loops are compiled, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# Sums may be reordered and fused; NaN and infinity keep their meaning.
MATH = {"reassoc", "contract", "nsz", "arcp"}
TINY = 1e-12


def loop(**options: Any) -> Callable[[Any], Any]:
    """Compile a function. Dividing by zero is no error: a test of it would keep out vectors."""
    return cached(njit, nogil=True, error_model="numpy", **options)


def cached(compiler: Callable[..., Any], *given: Any, **options: Any) -> Callable[[Any], Any]:
    """Compile a function and keep the code on disk; where no folder takes it, in memory only."""

    def decorate(function: Any) -> Any:
        try:
            return compiler(*given, cache=True, **options)(function)
        except RuntimeError:  # numba found no folder that it can write
            return compiler(*given, **options)(function)

    return decorate
