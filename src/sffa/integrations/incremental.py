"""A learner that is given examples in portions, each protected from the next by a strategy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sffa.continual import Clock, Experience, Strategy, View
from sffa.continual.step import protected_step
from sffa.core import Learner, Trainer
from sffa.core.growth import update_optimizer
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError


@dataclass(frozen=True)
class Plan:
    """How a portion is learned: passes, examples in a step, and when to stop before the end.

    ``held_out`` is the share of examples that accuracy is taken on, none if 0; training stops when
    that has not risen for ``patience`` epochs, and goes back to the best.
    """

    epochs: int
    batch_size: int
    held_out: float = 0.0
    patience: int = 10


@dataclass(frozen=True)
class Progress:
    """What an epoch came to; ``accuracy`` is of the examples held out, a share of one."""

    epoch: int
    loss: float
    accuracy: float | None


class Incremental:
    """A trainer and a strategy that go through portions of examples together."""

    def __init__(self, trainer: Trainer, strategy: Strategy) -> None:
        self.trainer = trainer
        self.strategy = strategy
        self.portions = 0

    @property
    def learner(self) -> Learner:
        """What learns."""
        return self.trainer.learner

    def meet(self, classes: Sequence[int]) -> None:
        """Make these the classes at hand; optimiser and strategy follow whatever grows."""
        growths = self.learner.add_classes(classes)
        update_optimizer(self.trainer.optimizer, growths)
        self.strategy.grow(growths)

    def learn(
        self, x: Tensor, y: Tensor, plan: Plan, on_epoch: Callable[[Progress], object]
    ) -> list[Progress]:
        """Learn one portion through the strategy's hooks, as an experience of its own."""
        kept, held = _split(y, plan.held_out, generator(self.trainer.seed, "held", self.portions))
        view, unseen = View(x, y, y, kept, None), View(x, y, y, held, None)
        labels = tuple(torch.unique(y).tolist())
        experience = Experience(self.portions, labels, labels, None, view, unseen)
        self.strategy.before_experience(self.learner, experience)
        history: list[Progress] = []
        best: tuple[float, dict[str, Tensor]] | None = None
        since = 0
        for epoch in range(plan.epochs):
            loss = self._epoch(view, epoch, plan.batch_size)
            accuracy = self._accuracy(unseen) if len(unseen) else None
            history.append(Progress(epoch + 1, loss, accuracy))
            on_epoch(history[-1])
            if accuracy is None:
                continue
            since += 1
            if best is None or accuracy > best[0]:
                best, since = (accuracy, copy.deepcopy(self.learner.state_dict())), 0
            if since >= plan.patience:
                break
        if best is not None:
            self.learner.load_state_dict(best[1])
        self.strategy.after_experience(self.learner, experience)
        self.portions += 1
        return history

    def _epoch(self, view: View, epoch: int, batch_size: int) -> float:
        rng = generator(self.trainer.seed, "order", self.portions, epoch)
        order = torch.from_numpy(rng.permutation(len(view)))
        losses = torch.zeros((), dtype=torch.float64)
        for number, chosen in enumerate(torch.split(order, batch_size)):
            clock = Clock(self.portions, epoch, number)
            loss = protected_step(self.trainer, self.strategy, view.take(chosen), clock)
            losses += loss * len(chosen)
        mean = float(losses) / max(len(view), 1)
        if not np.isfinite(mean):
            raise ConfigurationError(f"the loss is {mean} in epoch {epoch + 1}: lower lr")
        return mean

    def _accuracy(self, view: View) -> float:
        return float((self.learner.predict(view.x) == view.y).double().mean())


def _split(y: Tensor, share: float, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Hold out a share of each class, but never its last example."""
    held = torch.zeros(len(y), dtype=torch.bool)
    for label in torch.unique(y):
        rows = (y == label).nonzero().squeeze(1)
        count = min(round(share * len(rows)), len(rows) - 1)
        held[rows[torch.from_numpy(rng.permutation(len(rows))[:count])]] = True
    return (~held).nonzero().squeeze(1), held.nonzero().squeeze(1)
