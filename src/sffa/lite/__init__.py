"""SFFA and FFA in NumPy alone: the formulas as they are read, for tests and for small machines.

`load` reads the model files of the whole library, `Network` predicts and learns on, and what it
saves the whole library reads. Nothing but NumPy is imported.
"""

from sffa.lite.config import Config
from sffa.lite.network import Network, load

__all__ = ["Config", "Network", "load"]
