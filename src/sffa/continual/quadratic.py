"""Penalties that hold weights near where they were, each as firmly as it matters."""

from __future__ import annotations

import torch

from sffa.continual.strategy import Strategy, named
from sffa.core import Learner
from sffa.errors import ConfigurationError
from sffa.kernels import draw_back


class QuadraticPenalty(Strategy):
    """The gradient of strength · importance · (θ − θ*)², however importance is found.

    ``beside["stiffness"]`` is the factor of (θ − ``beside["anchor"]``) in that gradient, twos and
    strengths included; ``beside["pull"]``, where there is one, is a part that does not depend on
    θ. A parameter not in ``stiffness`` is free.
    """

    def __init__(self, strength: float, seed: int, batch_size: int) -> None:
        super().__init__(seed, batch_size)
        if not strength >= 0:
            raise ConfigurationError(f"the strength of a penalty is 0 or more, got {strength}")
        self.strength = strength

    @torch.no_grad()
    def penalty(self, learner: Learner) -> None:
        """Add stiffness · (θ − anchor) + pull to the gradients.

        A parameter that the loss does not reach (another task's head) gets the penalty's gradient
        alone, as it would if the penalty were a part of the loss.
        """
        stiffness = self.beside.get("stiffness")
        if not stiffness:
            return
        pull = self.beside.get("pull", {})
        parameters = named(learner)
        compiled = getattr(learner, "compiled", False)
        for name, stiff in stiffness.items():
            parameter = parameters[name]
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            anchor = self.beside["anchor"][name]
            parts = parameter.grad, stiff, parameter, anchor, pull.get(name)
            draw_back(*parts, compiled=compiled)
