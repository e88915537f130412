"""Holding examples out of training."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def hold_out_share(y: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the places kept and those held out: a share of each class, never its last example."""
    held = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        count = min(round(share * len(rows)), len(rows) - 1)
        held[rows[rng.permutation(len(rows))[:count]]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
