"""A learner that is given examples in portions, each protected from the next by a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.continual import Experience, Strategy, View
from sffa.continual.views import Transform
from sffa.core import Callback, EarlyStopping, Epoch, Learner, Trainer
from sffa.core.lr_schedule import LRSchedule
from sffa.core.seeds import generator
from sffa.splits import hold_out

Array = NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """How a portion is learned: passes, examples in a step, step size, and when to stop early.

    ``held_out`` is the share of examples that accuracy is taken on, none if 0; training stops when
    that has not risen for ``patience`` epochs, and goes back to the best. ``watched`` examples that
    are trained on have their accuracy taken too.
    """

    epochs: int
    batch_size: int
    lr: float
    lr_schedule: LRSchedule = "constant"
    held_out: float = 0.0
    patience: int = 10
    watched: int = 0


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
        """Make these the current classes; optimiser and strategy follow whatever grows."""
        self.strategy.grow(self.trainer.add_classes(classes))

    def learn(
        self,
        x: Tensor,
        y: Tensor,
        plan: Plan,
        callbacks: Sequence[Callback] = (),
        weight: Array | None = None,
        transform: Transform | None = None,
    ) -> list[Epoch]:
        """Meet the classes of one portion, and learn it through the strategy's hooks.

        An example of twice the ``weight`` (N,) is seen twice as often in every epoch; a
        ``transform`` makes examples of rows of ``x`` as they are needed.
        """
        seed, number = self.trainer.seed, self.portions
        self.trainer.lr, self.trainer.lr_schedule = plan.lr, plan.lr_schedule
        self.strategy.join_run(self.strategy.seed, plan.batch_size)
        kept, held = np.arange(len(y)), np.arange(0)
        if plan.held_out:
            kept, held = hold_out(y, float(plan.held_out), generator(seed, "held", number))
        view = View(x, y, y, torch.from_numpy(kept), None, transform)
        unseen = View(x, y, y, torch.from_numpy(held), None, transform)
        labels = tuple(np.unique(y.numpy()).tolist())
        self.meet(labels)
        experience = Experience(number, labels, labels, None, view, unseen)
        self.strategy.before_experience(self.learner, experience)
        stopping = [EarlyStopping("validation", plan.patience)] if len(unseen) else []
        history = self.trainer.run_epochs(
            view,
            range(plan.epochs),
            plan.batch_size,
            lambda epoch: _order(
                len(view),
                None if weight is None else weight[kept],
                (seed, "order", number, epoch),
            ),
            hooks=self.strategy,
            experience=number,
            watch=_watched(view, unseen, plan),
            callbacks=[*callbacks, *stopping],
            steps=plan.epochs * -(-len(view) // plan.batch_size),
        )
        for callback in stopping:
            callback.restore(self.learner)
        self.strategy.after_experience(self.learner, experience)
        self.portions += 1
        return history


def _order(count: int, weight: Array | None, draw: tuple[Any, ...]) -> Array:
    """Return the places of an epoch, each as often as its share of the weight, rounded at random.

    >>> np.sort(_order(4, np.array([1.0, 0.0, 3.0, 0.0]), (0, "order"))).tolist()
    [0, 2, 2, 2]
    """
    if count == 1:  # so it is in every call of many a stream, and a generator takes its time
        return np.zeros(1, np.int64)
    rng = generator(*draw)
    if weight is None:
        return rng.permutation(count)
    marks = (np.arange(count) + rng.random()) / count
    ends = np.cumsum(weight) / weight.sum()
    return rng.permutation(np.searchsorted(ends, marks, side="right").clip(max=count - 1))


def _watched(view: View, unseen: View, plan: Plan) -> dict[str, tuple[Tensor, Tensor]]:
    """Return the examples whose accuracy is taken after each epoch."""
    if len(unseen):
        return {"validation": (unseen.x, unseen.y)}
    if not plan.watched:
        return {}
    some = view.take(slice(plan.watched))
    return {"training": (some.x, some.y)}
