"""Means over seeds, their errors, paired differences with t intervals, and Holm's correction.

Runs of one seed share the order of the classes, so two cells are compared seed by seed. The
standard deviation (``sd``) says how much runs differ, the standard error (``sem``) how well their
mean is known; no name or table uses one for the other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.95


@dataclass(frozen=True)
class Summary:
    """Mean and standard error over seeds; no error with fewer than two."""

    mean: float
    sem: float | None
    count: int

    @property
    def sd(self) -> float | None:
        """The standard deviation over seeds."""
        return None if self.sem is None else self.sem * math.sqrt(self.count)

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the t interval of the mean.

        >>> low, high = Summary(2.0, 1.0, 3).interval()
        >>> round(low, 2), round(high, 2)
        (-2.3, 6.3)
        """
        if self.sem is None:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(self.count - 1, (1 + level) / 2)) * self.sem
        return self.mean - half, self.mean + half

    @property
    def p_value(self) -> float | None:
        """The two-sided p value of a t test against a mean of zero."""
        if self.sem is None:
            return None
        if not self.sem:
            return 0.0 if self.mean else 1.0
        from scipy.special import stdtr

        return 2 * float(stdtr(self.count - 1, -abs(self.mean) / self.sem))


def summarise(values: Sequence[float]) -> Summary | None:
    """Return mean, standard error and number of values, if there are any.

    >>> summarise([1.0, 3.0])
    Summary(mean=2.0, sem=1.0, count=2)
    """
    if not values:
        return None
    many = len(values) > 1
    sem = statistics.stdev(values) / math.sqrt(len(values)) if many else None
    return Summary(statistics.fmean(values), sem, len(values))


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Summary | None:
    """Summarise the differences between two cells, values by seed, over their common seeds.

    >>> paired({0: 90.0, 1: 80.0, 2: 10.0}, {0: 88.0, 1: 76.0})
    Summary(mean=3.0, sem=1.0, count=2)
    """
    common = sorted({*ours} & {*theirs})
    return summarise([ours[seed] - theirs[seed] for seed in common])


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for all tests of a table (Holm 1979); None is no test.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p))
        corrected[place] = largest
    return corrected


def median_gap(gaps: Sequence[float | None]) -> float | None:
    """Return the median of the absolute differences that there are.

    >>> median_gap([-3.0, None, 1.0, 2.0])
    2.0
    """
    known = [abs(gap) for gap in gaps if gap is not None]
    return statistics.median(known) if known else None


def span(counts: Iterable[int]) -> str:
    """Return the smallest and the largest of some counts.

    >>> span([10, 3, 6]), span([10, 10])
    ('3 to 10', '10')
    """
    found = sorted(set(counts))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"
