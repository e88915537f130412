"""Neural networks that learn without back-propagation, and keep learning: SFFA and FFA."""

from sffa._version import __version__
from sffa.core import Backprop, Network, Trainer, load
from sffa.errors import SFFAError

__all__ = ["Backprop", "Network", "SFFAError", "Trainer", "__version__", "load"]
