"""Blurry boundaries: most examples of a class in its experience, some in the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from sffa.continual.stream import Experience, Stream
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError


class Blurry(Stream):
    """A split stream in which a share of every class's examples moves to other experiences.

    Test examples stay in the experience of their class.

    Parameters
    ----------
    overlap
        The share of the training examples of each class that moves.
    to
        ``"all"``: equally many to each of the other experiences; ``"next"``: to the experience
        before and the one after.

    Examples
    --------
    >>> from sffa.data import load
    >>> stream = Blurry(load("digits"), "class", 0, overlap=0.2)
    >>> {len(experience.classes) for experience in stream}  # every class in each
    {10}
    """

    scenarios: ClassVar[tuple[str, ...]] = ("class", "domain")

    def __init__(
        self,
        *given: Any,
        overlap: float = 0.1,
        to: Literal["all", "next"] = "all",
        **common: Any,
    ) -> None:
        if not 0 <= overlap <= 1:
            raise ConfigurationError(f"blurry.overlap is a share in 0 to 1, got {overlap}")
        self.overlap, self.to = overlap, to
        super().__init__(*given, **common)

    def arrange(self) -> Sequence[Experience]:
        """Return the groups with what moved away gone and what came added."""
        parts: list[list[Tensor]] = [[] for _ in self.groups]
        for home, group in enumerate(self.groups):
            others = [n for n in range(len(parts)) if n != home]
            if self.to == "next":
                others = [n for n in others if abs(n - home) == 1]
            for label in group:
                places = self.train_split.of([label])
                order = generator(self.seed, "blurry", label).permutation(len(places))
                moved = round(self.overlap * len(places)) if others else 0
                shuffled = places[torch.from_numpy(order)]
                parts[home].append(shuffled[moved:])
                for turn, other in enumerate(others):
                    parts[other].append(shuffled[:moved][turn :: len(others)])
        found = []
        for number, part in enumerate(parts):
            train = torch.sort(torch.cat(part)).values
            if not len(train):
                raise ConfigurationError(
                    f"with blurry.overlap={self.overlap} experience {number} has no examples left"
                )
            found.append(self.experience(number, train, self.test_split.of(self.groups[number])))
        return found

    @property
    def learned(self) -> list[int]:
        """Each group after the experience that has most of it."""
        return list(range(1, len(self.groups) + 1))
