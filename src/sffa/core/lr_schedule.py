"""The step size over time."""

from __future__ import annotations

import math
from typing import Literal, get_args

LRSchedule = Literal["constant", "cosine"]
LR_SCHEDULES: tuple[LRSchedule, ...] = get_args(LRSchedule)


def lr_factor(schedule: LRSchedule, progress: float) -> float:
    """Return what the step size is multiplied by once a share of the steps is done.

    ``cosine`` falls from 1 to 0 along half a wave (Loshchilov 2017, without restarts).

    >>> [round(lr_factor("cosine", done), 2) for done in (0.0, 0.25, 0.5, 1.0)]
    [1.0, 0.85, 0.5, 0.0]
    """
    return 1.0 if schedule == "constant" else 0.5 * (1 + math.cos(math.pi * progress))
