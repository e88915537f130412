"""Penalties that hold weights near where they were, each as firmly as it matters."""

from __future__ import annotations

import torch

from sffa.continual.strategies.base import Strategy, named
from sffa.continual.stream import AnyStream
from sffa.core import Learner
from sffa.errors import ConfigurationError, ModelFileError
from sffa.kernels import add_quadratic_gradient


class QuadraticPenalty(Strategy):
    """The gradient of strength · importance · (θ − θ∗)², however importance is found.

    In ``parameter_state``, ``curvature`` is the factor of (θ − ``anchor``) in that gradient, twos
    and strengths included; ``offset``, where there is one, is a part that does not depend on θ. A
    parameter not in ``curvature`` is free.
    """

    def __init__(self, strength: float, seed: int, batch_size: int) -> None:
        super().__init__(seed, batch_size)
        if not strength >= 0:
            raise ConfigurationError(f"the strength of a penalty is 0 or more, got {strength}")
        self.strength = strength

    def kinds(self) -> tuple[str, ...]:
        """Return what is kept for every parameter that is held."""
        return ("curvature", "anchor")

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse a parameter of which only some is kept, or as other numbers than its own."""
        parameters = named(learner)
        kept = [self.parameter_state.get(kind, {}) for kind in self.kinds()]
        for name in {name for tensors in kept for name in tensors}:
            for kind in self.kinds():
                found = self.parameter_state.get(kind, {}).get(name)
                if found is None or found.dtype != parameters[name].dtype:
                    raise ModelFileError(f"the {kind} of {name[:60]} is missing, or no such number")

    @torch.no_grad()
    def add_penalty_gradients(self, learner: Learner) -> None:
        """Add curvature · (θ − anchor) + offset to the gradients.

        A parameter that the loss does not reach (another task's head) gets the penalty's gradient
        alone, as it would if the penalty were a part of the loss.
        """
        curvature = self.parameter_state.get("curvature")
        if not curvature:
            return
        offset = self.parameter_state.get("offset", {})
        parameters = named(learner)
        compiled = getattr(learner, "compiled", False)
        for name, factor in curvature.items():
            parameter = parameters[name]
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            anchor = self.parameter_state["anchor"][name]
            parts = parameter.grad, factor, parameter, anchor, offset.get(name)
            add_quadratic_gradient(*parts, compiled=compiled)
