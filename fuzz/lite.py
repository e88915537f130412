"""Model files as NumPy alone reads them: the cases of `fuzz.model`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.model import make
from fuzz.surface import Surface
from sffa import lite


def read(path: Path) -> None:
    """Load a network, let it judge and learn, and save it."""
    net = lite.load(path)
    x = np.ones((2, net.config.inputs), np.float32)
    net.predict(x)
    net.partial_fit(x, net.predict(x))
    net.save(path.with_name("again.safetensors"))


SURFACE = Surface(make, read)
