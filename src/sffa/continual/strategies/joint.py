"""Joint training: everything seen so far, again and again."""

from __future__ import annotations

from collections.abc import Sequence

from sffa.continual.strategies.base import Strategy
from sffa.continual.stream import Experience
from sffa.continual.views import View, merge


class Joint(Strategy):
    """Train each experience on all examples seen so far: the upper bound, memory unbounded.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = Joint()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> result.done  # experiences
    5
    """

    transient = frozenset({"_kept"})
    _kept = 0.0

    def training_view(self, experience: Experience, past: Sequence[Experience]) -> View:
        """Return this experience's examples and all before."""
        view = merge([*(earlier.train for earlier in past), experience.train])
        self._kept = len(view) * view.images[:1].nbytes / 2**20
        return view

    @property
    def megabytes(self) -> float:
        """All examples seen, in 2**20 bytes."""
        return self._kept
