"""One step of training under a strategy's hooks."""

from __future__ import annotations

from torch import Tensor

from sffa.continual.strategies.base import Clock, Strategy
from sffa.continual.views import Batch, join
from sffa.core import Trainer
from sffa.errors import ConfigurationError


def protected_step(trainer: Trainer, strategy: Strategy, batch: Batch, clock: Clock) -> Tensor:
    """Learn from a batch, and from what the strategy adds to it; give the loss, detached."""
    extra = strategy.extra_batch(clock)
    if extra is not None:
        batch = join([batch, extra])
    trainer.optimizer.zero_grad(set_to_none=True)
    loss = trainer.loss(*batch)
    term = strategy.extra_loss(trainer.learner, batch, clock)
    if term is not None:
        loss = loss + term
    loss.backward()  # type: ignore[no-untyped-call]
    if strategy.add_penalty_gradients(trainer.learner) is not None:  # type: ignore[func-returns-value]
        raise ConfigurationError(
            f"the penalty of {type(strategy).__name__} gives a value, and nothing takes it: a "
            "penalty adds to the gradients; a term of the loss goes into extra_loss"
        )
    strategy.after_backward(trainer.learner, clock)
    trainer.optimizer.step()
    strategy.after_step(trainer.learner)
    return loss.detach()
