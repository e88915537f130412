"""Repetition: classes that come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from sffa.continual.stream import Experience, Stream
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError


class Repetition(Stream):
    """The experiences of a split stream, ``times`` times over, each time in another order.

    Parameters
    ----------
    times
        Rounds; the stream has as many experiences as groups of classes times rounds.
    examples
        ``"dealt"``: a class's examples are dealt out to the rounds, so that none is seen in two;
        ``"all"``: every round has them all.
    regroup
        Whether later rounds put other classes together (Class IL only).

    Examples
    --------
    >>> from sffa.data import load
    >>> stream = Repetition(load("digits"), "class", 0, times=2)
    >>> len(list(stream))  # five groups of classes, twice
    10
    """

    def __init__(
        self,
        *given: Any,
        times: int = 3,
        examples: Literal["dealt", "all"] = "dealt",
        regroup: bool = False,
        **common: Any,
    ) -> None:
        if times < 1:
            raise ConfigurationError(f"repetition.times must be 1 or more, got {times}")
        self.times, self.examples, self.regroup = times, examples, regroup
        super().__init__(*given, **common)

    def arrange(self) -> Sequence[Experience]:
        """Return the rounds, one after the other; the first is the split stream."""
        if self.regroup and self.scenario != "class":
            raise ConfigurationError(
                f"repetition.regroup puts other classes together and has no "
                f"{self.scenario} labels: use scenario class"
            )
        found: list[Experience] = []
        for turn in range(self.times):
            for number, group in self._round(turn):
                train = self._examples(group, turn)
                task = number if self.scenario == "task" else None
                test = self.test_split.of(group)
                found.append(self.experience(len(found), train, test, task, group))
        return found

    def _round(self, turn: int) -> list[tuple[int, tuple[int, ...]]]:
        """Return the groups of a round with their numbers, in the order they come."""
        rng = generator(self.seed, "repetition", turn)
        if not turn:
            return list(enumerate(self.groups))
        if not self.regroup:
            return [(int(n), self.groups[n]) for n in rng.permutation(len(self.groups))]
        order = iter(rng.permutation(self.classes).tolist())
        return [(n, tuple(next(order) for _ in group)) for n, group in enumerate(self.groups)]

    def _examples(self, group: Sequence[int], turn: int) -> Tensor:
        """Return the places of the examples that a group shows in a round."""
        if self.examples == "all":
            return self.train_split.of(group)
        dealt = []
        for label in group:
            places = self.train_split.of([label])
            if len(places) < self.times:
                raise ConfigurationError(
                    f"class {label} has {len(places)} training examples, too few for "
                    f"{self.times} rounds: use repetition.examples=all or fewer rounds"
                )
            order = torch.from_numpy(generator(self.seed, "dealt", label).permutation(len(places)))
            dealt.append(places[order[turn :: self.times]])
        return torch.sort(torch.cat(dealt)).values
