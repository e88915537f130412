"""Which examples a bounded buffer keeps."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Policy = Literal["experience", "class", "reservoir"]
POLICIES: tuple[Policy, ...] = ("experience", "class", "reservoir")
_Array = np.ndarray[Any, Any]


def shares(capacity: int, groups: int) -> _Array:
    """Divide a capacity equally; what is left over goes to the first groups.

    >>> shares(10, 3).tolist()
    [4, 3, 3]
    """
    equal, rest = divmod(capacity, groups)
    return np.full(groups, equal) + (np.arange(groups) < rest)


def keep(groups: _Array, keys: _Array, capacity: int) -> _Array:
    """Return the places of the examples to keep: of each group its share, with the largest keys.

    As keys are drawn once for each example and never again, what remains of a group is a random
    choice from all its examples, whenever they came.

    >>> keep(np.array([0, 0, 0, 1]), np.array([0.1, 0.9, 0.5, 0.2]), 3).tolist()
    [1, 2, 3]
    """
    order = np.lexsort((-keys, groups))
    names, first = np.unique(groups[order], return_index=True)
    group = np.searchsorted(names, groups[order])
    rank = np.arange(len(order)) - first[group]
    return order[rank < shares(capacity, len(names))[group]]
