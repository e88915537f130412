"""Sizes that fit the data, for those who do not want to choose them.

They were chosen on tables of other seeds and sizes than those reported
(benchmarks/choose_tables.py).
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Literal

from sffa.core.negatives import Sampled
from sffa.core.presets import PRESETS

ENOUGH = 5_000
"""Rows from which a share is held out and training may stop early."""
_STEPS = {"sffa": 400, "ffa": 1000}
_NEW_STEPS = 40
_SHOWN = 8
_MANY = 250  # features
_WINNERS = PRESETS["sffa-classifier"].options("static")["k"]


def hidden_for(features: int, algorithm: str = "sffa") -> tuple[int, int]:
    """Return two layers, wider for more features.

    >>> hidden_for(13), hidden_for(784), hidden_for(784, "ffa")
    ((200, 200), (400, 400), (1400, 1400))
    """
    if algorithm == "sffa":
        return (200, 200) if features < _MANY else (400, 400)
    width = 2 * round(min(max(50 * math.sqrt(features), 200), 1400) / 2)
    return width, width


def network_for(features: int, hidden: tuple[Any, ...]) -> dict[str, Any]:
    """Return what differs from the preset: for many features, and in layers of few neurons.

    Of many features each tells little: a network that begins near zero finds those that do.

    >>> network_for(13, (200, 200)), network_for(13, (20,))
    ({}, {'k': 5})
    >>> network_for(784, (400, 400))
    {'activation': 'relu', 'spread': 0.2}
    """
    widths = [width for width in hidden if isinstance(width, Integral)]  # others are refused later
    few = int(min(widths, default=4 * _WINNERS)) // 4
    return {
        **({} if features < _MANY else {"activation": "relu", "spread": 0.2}),
        **({"k": max(few, 1)} if few < _WINNERS else {}),
    }


def lr_for(features: int, algorithm: str = "sffa") -> float:
    """Return Adam's step size at the start of a fit: smaller for many features, which add up.

    >>> lr_for(4), lr_for(100), lr_for(784), lr_for(4, "ffa")
    (0.02, 0.01, 0.001, 0.003)
    """
    if algorithm == "ffa":
        return 3e-3
    return min(0.02, 0.1 / math.sqrt(features)) if features < _MANY else 1e-3


def portion_lr_for(features: int, algorithm: str = "sffa") -> float:
    """Return Adam's step size in `partial_fit`, where it does not fall."""
    return min(3e-3, lr_for(features, algorithm))


def negatives_for(algorithm: str = "sffa") -> Sampled | Literal["all"]:
    """Return the labels that an example is contrasted with: eight, drawn anew in every step.

    So a step costs no more for many classes; all of 25 were no better on tables held out.
    """
    return Sampled(_SHOWN) if algorithm == "sffa" else "all"


def batch_for(examples: int, classes: int = 2, algorithm: str = "sffa") -> int:
    """Return a power of two: an eighth of the examples or less, within 32 and 256.

    An example counts once for each label it is shown with, so many labels make it smaller.

    >>> batch_for(142), batch_for(1437), batch_for(60_000), batch_for(60_000, 10)
    (32, 128, 256, 64)
    >>> batch_for(60_000, 10, "ffa"), batch_for(60_000, 50, "ffa")
    (256, 128)
    """
    most = 8192 / classes if algorithm == "ffa" else 512 / min(classes, _SHOWN)
    most = min(max(examples, 1) / 8, most)
    return int(min(max(2 ** math.floor(math.log2(most)), 32), 256))


def epochs_for(examples: int, batch_size: int, algorithm: str = "sffa") -> int:
    """Return as many passes as make 400 steps (FFA 1,000) and more for more examples.

    That is one for every five; beyond 13,333, and for FFA, one for every twenty.

    >>> epochs_for(142, 32), epochs_for(1437, 128), epochs_for(60_000, 256)
    (86, 58, 23)
    """
    count = max(examples, 1)
    more = min(count // 5, 2000 + count // 20) if algorithm == "sffa" else count // 20
    return math.ceil((_STEPS[algorithm] + more) / math.ceil(count / batch_size))


def portion_batch_for(examples: int, continual: str = "gaussian") -> int:
    """Return the examples in a step of `partial_fit`: all of few, 64 of many.

    Strategies rehearse as many beside them, ``gaussian`` four times as many. For a single row that
    is eight pseudo-examples: sixteen are no better on a stream of images, and take longer.

    >>> portion_batch_for(1), portion_batch_for(50), portion_batch_for(1000)
    (2, 50, 64)
    >>> portion_batch_for(1, "replay")
    4
    """
    least = 2 if "gaussian" in continual else 4
    return min(max(examples, least), 64)


def portion_epochs_for(examples: int, batch_size: int, new: bool) -> int:
    """Return the passes of `partial_fit`: one, but some 40 steps where a class is ``new``.

    >>> portion_epochs_for(1, 4, False), portion_epochs_for(1, 4, True)
    (1, 5)
    >>> portion_epochs_for(150, 64, True)
    14
    """
    if not new:
        return 1
    steps = math.ceil(max(examples, 1) / batch_size)
    return math.ceil(min(_NEW_STEPS, 5 * max(examples, 1)) / steps)
