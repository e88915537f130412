"""What a strategy changes outside ``parameter_state`` and ``buffers``: a resumed run lacks it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from sffa.continual.strategies.base import Strategy
from sffa.core import Learner

_KEPT = {"seed", "batch_size", "parameter_state", "buffers"}
_PLAIN = (str, bytes, int, float, complex, type(None), type, np.generic, np.dtype)


def digests(strategy: Strategy, learner: Learner) -> dict[str, str]:
    """Return a digest of each attribute that no checkpoint holds, by ``Class.attribute``."""
    parts = strategy.members
    return {
        f"{type(part).__name__}.{name}": _digest(value, learner)
        for part in parts
        for name, value in vars(part).items()
        if name not in _KEPT | part.transient
    }


def changed(strategy: Strategy, learner: Learner, before: Mapping[str, str]) -> list[str]:
    """Return the attributes that differ from what `digests` said before."""
    now = digests(strategy, learner)
    return sorted(name for name in {*before, *now} if before.get(name) != now.get(name))


def _digest(value: Any, learner: Learner) -> str:
    total = hashlib.blake2b(digest_size=16)
    open_ = [value]
    seen: set[int] = set()
    alive = []  # keeps the identities in ``seen`` those of one object each
    while open_:
        item = open_.pop()
        total.update(f"{type(item).__qualname__} ".encode())
        if item is learner:
            continue
        if isinstance(item, _PLAIN):
            total.update(f"{item!r};".encode(errors="surrogatepass"))
        elif isinstance(item, Tensor | np.ndarray) and not _holds_objects(item):
            array = item.detach().cpu().numpy() if isinstance(item, Tensor) else item
            total.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
        elif id(item) not in seen:
            seen.add(id(item))
            alive.append(item)
            open_ += _inside(item)
    return total.hexdigest()


def _holds_objects(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype == object


def _inside(item: Any) -> list[Any]:
    """Return what an object consists of, as far as copying it would go."""
    if isinstance(item, dict):
        return [part for pair in item.items() for part in pair]
    if isinstance(item, list | tuple):
        return list(item)
    if isinstance(item, set | frozenset):
        return sorted(item, key=repr)
    try:
        made = item.__reduce_ex__(4)
    except Exception:  # it cannot be copied, so nothing is known of it
        return []
    if isinstance(made, str):  # a function or another global by its name
        return [made]
    arguments, state, items, pairs = (*made[1:5], None, None, None)[:4]
    return [arguments, state, list(items or ()), list(pairs or ())]
