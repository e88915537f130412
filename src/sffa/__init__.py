"""Neural networks that learn without back-propagation, and keep learning: SFFA and FFA."""

from typing import TYPE_CHECKING, Any

from sffa import moved
from sffa._version import __version__
from sffa.core import Backprop, Network, Trainer, load
from sffa.errors import SFFAError

if TYPE_CHECKING:
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

moved.install()


def __getattr__(name: str) -> Any:
    """Import the scikit-learn classifiers when they are first asked for: they are slow to."""
    if name in ("FFAClassifier", "SFFAClassifier"):
        from sffa.integrations import sklearn

        return getattr(sklearn, name)
    raise AttributeError(f"module 'sffa' has no attribute '{name}'")
