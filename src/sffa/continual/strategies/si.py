"""Synaptic intelligence (Zenke 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.continual.strategies.base import named, snapshot, zeros_like
from sffa.continual.strategies.quadratic import QuadraticPenalty
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.errors import ConfigurationError, ModelFileError

_MOST = 0.001


class SI(QuadraticPenalty):
    """Penalty: strength/2 · Σ importance (θ−θ∗)², importance what a weight did for the loss.

    Along the way ω += g·Δθ, with g the gradient the step was made from, penalty included; after an
    experience Ω += ω / ((θ−θ_start)² + epsilon) and importance = min(−Ω, 0.001). As the weights at
    the start of an experience are those at the end of the last, the anchor is also θ_start.

    Parameters
    ----------
    strength
        λ of the paper.
    epsilon
        Damping of the division.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = SI()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> sorted(strategy.parameter_state)
    ['anchor', 'curvature', 'last', 'path', 'total']
    """

    def __init__(
        self,
        strength: float = 1e3,
        epsilon: float = 0.1,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(strength, seed, batch_size)
        if not epsilon > 0:
            raise ConfigurationError(f"the epsilon of SI is above 0, got {epsilon}")
        self.epsilon = epsilon

    def kinds(self) -> tuple[str, ...]:  # noqa: D102
        return (*super().kinds(), "last", "path", "total")

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse a parameter without a path, too."""
        super().check_restored(learner, stream)
        held = {*self.parameter_state.get("path", {})}
        if held and held != {*named(learner)}:
            raise ModelFileError("a parameter has no path")

    def before_experience(self, learner: Learner, experience: Experience) -> None:
        """Start a new path at the present weights."""
        if not self.strength:
            return
        parameters = named(learner)
        self.parameter_state["anchor"] = snapshot(parameters)
        self.parameter_state["last"] = snapshot(parameters)
        self.parameter_state["path"] = zeros_like(parameters)
        for kind in ("curvature", "total"):
            self.parameter_state[kind] = zeros_like(parameters) | self.parameter_state.get(kind, {})

    @torch.no_grad()
    def after_step(self, learner: Learner) -> None:
        """Add g·Δθ of this step to the path."""
        if not self.strength:
            return
        moved = {n: p for n, p in named(learner).items() if p.grad is not None}
        weights: list[Tensor] = list(moved.values())
        last = [self.parameter_state["last"][name] for name in moved]
        change = torch._foreach_sub(weights, last)
        grads = [p.grad for p in weights if p.grad is not None]
        torch._foreach_addcmul_(
            [self.parameter_state["path"][name] for name in moved], grads, change
        )
        torch._foreach_copy_(last, weights)

    @torch.no_grad()
    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Turn the path into importance."""
        if not self.strength:
            return
        for name, parameter in named(learner).items():
            travelled = (
                (parameter - self.parameter_state["anchor"][name]).square_().add_(self.epsilon)
            )
            total = self.parameter_state["total"][name].addcdiv_(
                self.parameter_state["path"][name], travelled
            )
            self.parameter_state["curvature"][name] = (-total).clamp_(max=_MOST).mul_(self.strength)
