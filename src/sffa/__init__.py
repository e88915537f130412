"""Neural networks that learn without back-propagation, and keep learning: SFFA and FFA."""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from sffa import moved
from sffa._version import __version__
from sffa.errors import SFFAError

if TYPE_CHECKING:
    from sffa.core import Backprop, Network, Trainer, load
    from sffa.integrations.sklearn import FFAClassifier, SFFAClassifier

__all__ = [
    "Backprop",
    "FFAClassifier",
    "Network",
    "SFFAClassifier",
    "SFFAError",
    "Trainer",
    "__version__",
    "load",
]

_PLACES = {
    **dict.fromkeys(("Backprop", "Network", "Trainer", "load"), "sffa.core"),
    **dict.fromkeys(("FFAClassifier", "SFFAClassifier"), "sffa.integrations.sklearn"),
}

moved.install()


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `sffa.lite` needs NumPy alone."""
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    if not name.startswith("_") and importlib.util.find_spec(f"sffa.{name}") is not None:
        return importlib.import_module(f"sffa.{name}")
    raise AttributeError(f"module 'sffa' has no attribute '{name}'")
