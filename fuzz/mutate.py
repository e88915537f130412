"""Damage to bytes: a few changes of the kinds that files suffer and attackers make."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

TELLING = (0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31)
LARGE = (2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 2**31, 2**63, 2**70, 1e300, float("nan"), float("inf"), "", "a"),
    *("0", "\0", "\ud800", "x" * 300, "os:system", "<b>|[/x]", [], [[]], [None], {}, {"a": 1}),
)


def odd(rng: Random, value: Any) -> Any:
    """Return a copy of JSON-like data in which one to three places hold something else."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(value))
        if not places:
            return copy.deepcopy(rng.choice(ODD))
        holder, key = rng.choice(places)
        what = rng.random()
        if what < 0.15:
            del holder[key]
        elif what < 0.25 and isinstance(holder, dict):
            holder[rng.choice(("a", "", "seed", key + "x"))] = copy.deepcopy(holder[key])
        else:
            holder[key] = copy.deepcopy(rng.choice((*ODD, rng.choice(TELLING + LARGE))))
    return value


def _places(value: Any) -> Any:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def damaged(rng: Random, blob: bytes) -> bytes:
    """Return ``blob`` with one to four changes, or now and then as it is."""
    if rng.random() < 0.02:
        return blob
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        blob = rng.choice((_flip, _flip, _set, _number, _number, _cut, _insert, _drop, _copy))(
            rng, blob
        )
    return blob


def _place(rng: Random, blob: bytes) -> int:
    """Return a place, in half of the cases near the beginning, where headers are."""
    most = len(blob) if rng.random() < 0.5 else min(len(blob), 64)
    return rng.randrange(most + 1)


def _flip(rng: Random, blob: bytes) -> bytes:
    at = _place(rng, blob)
    return (
        blob[:at] + bytes([blob[at] ^ (1 << rng.randrange(8))]) + blob[at + 1 :]
        if blob[at:]
        else blob
    )


def _set(rng: Random, blob: bytes) -> bytes:
    at = _place(rng, blob)
    return blob[:at] + bytes([rng.choice((0, 255, rng.randrange(256)))]) + blob[at + 1 :]


def _number(rng: Random, blob: bytes) -> bytes:
    """Write a telling number over some bytes, in either order."""
    at, size = _place(rng, blob), rng.choice((1, 2, 3, 4, 8))
    number = rng.choice(TELLING + LARGE) % (1 << (8 * size))
    order = rng.choice(("big", "little"))
    return blob[:at] + number.to_bytes(size, order) + blob[at + size :]  # type: ignore[arg-type]


def _cut(rng: Random, blob: bytes) -> bytes:
    return blob[: _place(rng, blob)]


def _insert(rng: Random, blob: bytes) -> bytes:
    at = _place(rng, blob)
    return blob[:at] + rng.randbytes(rng.choice((1, 2, 4, 100))) + blob[at:]


def _drop(rng: Random, blob: bytes) -> bytes:
    at = _place(rng, blob)
    return blob[:at] + blob[at + rng.choice((1, 2, 4, 50)) :]


def _copy(rng: Random, blob: bytes) -> bytes:
    """Put a piece of the bytes in another place."""
    start, at = _place(rng, blob), _place(rng, blob)
    return blob[:at] + blob[start : start + rng.choice((4, 30, 200))] + blob[at:]
