"""What a strategy may do around the one training step."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from sffa.core.batch import Batch, Clock
from sffa.core.callbacks import Epoch
from sffa.core.learner import Learner


class Step(NamedTuple):
    """One step that was taken: ``new`` examples and those of ``extra_batch`` apart, and the loss.

    ``loss`` is a detached scalar, of both together, with the term of ``extra_loss``.
    """

    new: Batch
    extra: Batch | None
    loss: Tensor
    optimizer: torch.optim.Optimizer
    clock: Clock


class StepHooks:
    """Nothing by itself: subclasses override the hooks they need. See `Trainer.step`."""

    @property
    def has_extra_loss(self) -> bool:
        """Whether `extra_loss` may return a term, which takes a graph to differentiate."""
        return type(self).extra_loss is not StepHooks.extra_loss

    def extra_batch(self, clock: Clock) -> Batch | None:
        """Return examples to train on together with the new ones."""
        return None

    def extra_loss(self, learner: Learner, batch: Batch, clock: Clock) -> Tensor | None:
        """Return a term of the loss, to be differentiated with it.

        ``batch`` holds the examples of this step, those of ``extra_batch`` behind the new ones.
        """
        return None

    def add_penalty_gradients(self, learner: Learner) -> None:
        """Add the gradient of a penalty to the parameters' ``grad``.

        The gradient, not the penalty: a quadratic one is known in closed form, and writing it
        costs a third of what autograd takes for the same.
        """

    def after_backward(self, learner: Learner, clock: Clock) -> None:
        """Change the gradients, penalties included, before the optimiser sees them."""

    def after_step(self, learner: Learner) -> None:
        """Look at the step; gradients are still those it was made from."""

    def after_batch(self, learner: Learner, step: Step) -> None:
        """See what a step was made of: examples, loss and optimiser."""

    def after_epoch(self, learner: Learner, epoch: Epoch, clock: Clock) -> None:
        """See what a pass over the examples came to; ``clock`` is that of its last batch."""


NO_HOOKS = StepHooks()
