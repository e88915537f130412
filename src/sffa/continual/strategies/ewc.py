"""Elastic weight consolidation (Kirkpatrick 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.continual.strategies.base import gradients, named, snapshot, zeros_like
from sffa.continual.strategies.quadratic import QuadraticPenalty
from sffa.continual.stream import Experience
from sffa.core import Learner
from sffa.errors import ConfigurationError


class EWC(QuadraticPenalty):
    """Penalty: strength · Σ over experiences of F (θ−θ*)², F the squared gradient of the loss.

    F is the mean over the experience's batches of the squared gradient of the batch's mean loss.
    The sum over experiences is kept folded: with A the last θ* and W = Σ F,
    Σ Fᵢ (θ−θᵢ*) = W (θ−A) + Σ Fᵢ (A−θᵢ*), whose second part changes only between experiences. So
    memory and time do not grow with the experiences, and nothing large is subtracted from
    something as large.

    Parameters
    ----------
    strength
        λ of the paper.
    decay
        None: every experience counts alike. A number (``ewc-online``): old importance times this
        plus the new one, around the last θ* alone.
    """

    def __init__(
        self,
        strength: float = 1e5,
        decay: float | None = None,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(strength, seed, batch_size)
        if decay is not None and not 0 <= decay <= 1:
            raise ConfigurationError(f"the decay of EWC lies in 0 to 1, got {decay}")
        self.decay = decay

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Move the anchor to the present weights and add this experience's importance."""
        if not self.strength:
            return
        parameters = named(learner)
        fisher = self.fisher(learner, experience)
        now = snapshot(parameters)
        if self.decay is None:
            self.parameter_state["offset"] = self._moved_offset(now)
        old = self.parameter_state.get("curvature", {})
        kept = 1.0 if self.decay is None else self.decay
        for name, importance in fisher.items():
            importance.mul_(2 * self.strength)
            if name in old:
                importance.add_(old[name], alpha=kept)
        self.parameter_state["curvature"] = fisher
        self.parameter_state["anchor"] = now

    def fisher(self, learner: Learner, experience: Experience) -> dict[str, Tensor]:
        """Return F of an experience: the mean over batches of the squared gradient."""
        total = zeros_like(named(learner))
        count = -(-len(experience.train) // self.batch_size)
        losses = (learner.loss(*batch) for batch in experience.train.batches(self.batch_size))
        for found in gradients(learner, losses):
            grads = list(found.values())
            torch._foreach_addcmul_([total[n] for n in found], grads, grads, value=1 / count)
            del grads
        return total

    def _moved_offset(self, now: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return Σ Fᵢ (θ−θᵢ*) at the present weights, which is where the anchor moves."""
        old, offset = (
            self.parameter_state.get("curvature", {}),
            self.parameter_state.get("offset", {}),
        )
        moved = {}
        for name, weights in now.items():
            if name in old:
                away = weights - self.parameter_state["anchor"][name]
                moved[name] = torch.addcmul(offset[name], old[name], away)
            else:
                moved[name] = torch.zeros_like(weights)
        return moved
