"""Task-free: one pass over single batches, with nothing said of tasks or boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from sffa.continual.stream import Experience, Stream
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError

_EVALUATIONS = 20


class TaskFree(Stream):
    """Batches in an order in which groups of classes come and go; each is an experience, seen once.

    Strategies are told of no boundary: those that need one are refused. Classes are met in the
    batch in which they first occur. Unless a run says otherwise, all groups are tested some twenty
    times along the stream.

    Parameters
    ----------
    drift
        How far an example may stray from the time of its group: the deviation, in lengths of a
        group. 0 are sharp boundaries that nobody is told of.

    Examples
    --------
    >>> from sffa.data import load
    >>> stream = TaskFree(load("digits"), "class", 0, batch_size=32)
    >>> len(list(stream))  # batches of 1,437 examples
    45
    """

    boundaries = False
    shuffled: ClassVar[bool] = False
    scenarios: ClassVar[tuple[str, ...]] = ("class", "domain")

    def __init__(self, *given: Any, drift: float = 0.2, **common: Any) -> None:
        if not 0 <= drift < np.inf:
            raise ConfigurationError(f"task-free.drift must not be negative, got {drift}")
        self.drift = drift
        super().__init__(*given, **common)
        self.evaluate_every = max(1, len(self) // _EVALUATIONS)

    def arrange(self) -> Sequence[Experience]:
        """Draw a time for each example, and cut their order into batches."""
        rng = generator(self.seed, "task-free")
        sizes = [len(test.train) for test in self.tests]
        places = torch.cat([test.train.index for test in self.tests])
        time = np.repeat(np.arange(len(sizes)), sizes) + rng.random(len(places))
        time += self.drift * rng.standard_normal(len(places))
        order = places[torch.from_numpy(np.argsort(time, kind="stable"))]
        nothing = torch.zeros(0, dtype=torch.long)
        batches = torch.split(order, self.batch_size)
        return [self.experience(number, batch, nothing) for number, batch in enumerate(batches)]

    @property
    def learned(self) -> list[int]:
        """Each group after as many batches as its examples and those of the earlier ones fill."""
        seen = np.cumsum([len(test.train) for test in self.tests])
        return [int(-(-count // self.batch_size)) for count in seen]
