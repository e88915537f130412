"""The step size over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sffa.errors import ConfigurationError
from sffa.extension import made, name_of, part_of

LR_SCHEDULES = ("constant", "cosine")
LRSchedule = str | Callable[[float], float]


def schedule_of(given: Any) -> LRSchedule:
    """Return a schedule by name, or the callable that a class, an object or ``module:name`` is."""
    schedule: LRSchedule = part_of(given, "lr_schedule", Callable, LR_SCHEDULES)  # type: ignore[arg-type]
    if isinstance(schedule, str):
        return schedule
    for progress in (0.0, 0.5, 1.0):
        factor: Any = made("lr_schedule", schedule, progress)
        if not isinstance(factor, int | float | np.floating) or not 0 <= factor < math.inf:
            raise ConfigurationError(
                f"lr_schedule {name_of(schedule)}: expected a factor of lr, not negative, at "
                f"{progress:.0%} of the steps, got {str(factor)[:40]!r}"
            )
    return schedule


def lr_factor(schedule: LRSchedule, progress: float) -> float:
    """Return what the step size is multiplied by once a share of the steps is done.

    ``cosine`` falls from 1 to 0 along half a wave (Loshchilov 2017, without restarts).

    >>> [round(lr_factor("cosine", done), 2) for done in (0.0, 0.25, 0.5, 1.0)]
    [1.0, 0.85, 0.5, 0.0]
    """
    if callable(schedule):
        return float(schedule(progress))
    return 1.0 if schedule == "constant" else 0.5 * (1 + math.cos(math.pi * progress))
