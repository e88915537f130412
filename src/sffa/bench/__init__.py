"""How fast and how large: measurements against baselines in the same run."""

from typing import Any

from sffa.bench.shape import Shape

_PLACES = {
    "CONTENDERS": "contenders",
    "Timing": "timing",
    "measure": "timing",
    "peak_memory": "timing",
    "Alone": "alone",
    "measure_alone": "alone",
}
__all__ = ["CONTENDERS", "Alone", "Shape", "Timing", "measure", "measure_alone", "peak_memory"]


def __getattr__(name: str) -> Any:
    """Import a part when it is asked for: the baseline's process has nothing but torch."""
    import importlib

    if name not in _PLACES:
        raise AttributeError(f"module 'sffa.bench' has no attribute '{name}'")
    return getattr(importlib.import_module(f"sffa.bench.{_PLACES[name]}"), name)
