"""Which examples are held out: one function for datasets, tables and portions of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sffa.errors import ConfigurationError

Index = NDArray[np.int64]


def hold_out(y: Any, amount: float, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return the positions kept and those held out, both ascending.

    Parameters
    ----------
    y
        Labels (N,), an array or a tensor.
    amount
        An integer is how many of all examples are held out, whatever their classes: 1 to N - 1.
        A float is the share of each class, rounded, but never the last example of a class.
    rng
        Where the choice comes from.

    >>> kept, held = hold_out([0, 0, 0, 1, 1], 0.5, np.random.default_rng(0))
    >>> len(kept), len(held)
    (2, 3)
    """
    labels = np.asarray(y)
    if isinstance(amount, int | np.integer):
        if not 0 < amount < len(labels):
            raise ConfigurationError(
                f"cannot hold out {amount} of {len(labels)} examples; "
                f"expected 1 to {len(labels) - 1}"
            )
        order = rng.permutation(len(labels))
        return np.sort(order[amount:]), np.sort(order[: int(amount)])
    if not 0 <= amount < 1:
        raise ConfigurationError(f"cannot hold out a share of {amount}; expected 0 <= share < 1")
    held = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        count = min(round(amount * len(rows)), len(rows) - 1)
        held[rng.permutation(rows)[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
