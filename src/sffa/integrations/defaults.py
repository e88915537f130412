"""Sizes that fit the data, for those who do not want to choose them."""

from __future__ import annotations

import math

_STEPS = 600


def hidden_for(features: int) -> tuple[int, int]:
    """Return two layers, wider for more features; the paper's 1400 from 784 features on.

    >>> hidden_for(13), hidden_for(64), hidden_for(784)
    ((200, 200), (400, 400), (1400, 1400))
    """
    width = 2 * round(min(max(50 * math.sqrt(features), 200), 1400) / 2)
    return width, width


def batch_for(examples: int) -> int:
    """Return the power of two nearest above a thirtieth of the examples, within 32 and 512.

    >>> batch_for(142), batch_for(1437), batch_for(60_000)
    (32, 64, 512)
    """
    return int(min(max(2 ** math.ceil(math.log2(max(examples, 1) / 30)), 32), 512))


def epochs_for(examples: int, batch_size: int) -> int:
    """Return as many passes as make some 600 steps, within 10 and 200.

    >>> epochs_for(142, 32), epochs_for(1437, 64), epochs_for(60_000, 512)
    (120, 27, 10)
    """
    steps = math.ceil(max(examples, 1) / batch_size)
    return min(max(math.ceil(_STEPS / steps), 10), 200)
