"""Steps that a strategy takes back in part: from the weights before it to those it shall have."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from sffa.continual.strategies.base import Strategy, named, snapshot
from sffa.core import Learner
from sffa.core.batch import Clock


class ChangedStep(Strategy):
    """Change the step Δθ itself, not the gradient, of which Adam would undo the change.

    Adam divides by the size of earlier gradients: one that is ten times smaller makes the same
    step, and one without some direction makes a step that has it.
    """

    transient: ClassVar[frozenset[str]] = frozenset({"_before"})

    def __init__(self, seed: int, batch_size: int) -> None:
        super().__init__(seed, batch_size)
        self._before: dict[str, Tensor] = {}

    @abstractmethod
    def held(self) -> list[str]:
        """Return the names of the parameters whose steps are changed."""

    @abstractmethod
    def changed(self, name: str, step: Tensor) -> Tensor:
        """Return what is left of the step of a parameter; it may be changed in place."""

    def after_backward(self, learner: Learner, clock: Clock) -> None:
        """Keep the weights until the step is taken."""
        parameters = named(learner)
        self._before = snapshot({name: parameters[name] for name in self.held()})

    @torch.no_grad()
    def after_step(self, learner: Learner) -> None:
        """Put what is left of the step in the place of the step."""
        parameters = named(learner)
        for name, before in self._before.items():
            step = self.changed(name, parameters[name] - before)
            parameters[name].copy_(before.add_(step))
        self._before = {}
