"""Memory aware synapses (Aljundi 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.continual.strategies.base import gradients, named, snapshot, zeros_like
from sffa.continual.strategies.quadratic import QuadraticPenalty
from sffa.continual.stream import Experience
from sffa.core import Learner
from sffa.errors import ConfigurationError


class MAS(QuadraticPenalty):
    """Penalty: strength · Σ Ω (θ−θ∗)², Ω how strongly a weight moves the output.

    Importance is the mean over the experience's batches of the absolute gradient of the batch mean
    of ‖output‖², labels unseen; Ω = alpha·old + (1−alpha)·new, the first as it is.

    Parameters
    ----------
    strength
        λ of the paper.
    alpha
        Share of the old importance.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = MAS()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> sorted(strategy.parameter_state)
    ['anchor', 'curvature']
    """

    def __init__(
        self, strength: float = 1.0, alpha: float = 0.5, *, seed: int = 0, batch_size: int = 512
    ) -> None:
        super().__init__(strength, seed, batch_size)
        if not 0 <= alpha <= 1:
            raise ConfigurationError(f"the alpha of MAS lies in 0 to 1, got {alpha}")
        self.alpha = alpha

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Blend this experience's importance into the old one, around the present weights."""
        if not self.strength:
            return
        importance = self._importance(learner, experience)
        old = self.parameter_state.get("curvature", {})
        for name, value in importance.items():
            value.mul_(2 * self.strength)
            if name in old:
                value.mul_(1 - self.alpha).add_(old[name], alpha=self.alpha)
        self.parameter_state["curvature"] = importance
        self.parameter_state["anchor"] = snapshot(named(learner))

    def _importance(self, learner: Learner, experience: Experience) -> dict[str, Tensor]:
        total = zeros_like(named(learner))
        count = -(-len(experience.train) // self.batch_size)
        sizes = (
            learner.outputs(batch.x, batch.task).square().sum(dim=1).mean()
            for batch in experience.train.batches(self.batch_size)
        )
        for found in gradients(learner, sizes):
            grads = list(found.values())
            torch._foreach_abs_(grads)
            torch._foreach_add_([total[n] for n in found], grads)
            del grads
        torch._foreach_div_(list(total.values()), float(count))
        return total
