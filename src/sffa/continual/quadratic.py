"""Penalties that hold weights near where they were, each as firmly as it matters."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.continual.strategy import Strategy, named
from sffa.core import Learner


class QuadraticPenalty(Strategy):
    """The gradient of strength · importance · (θ − θ*)², however importance is found.

    ``beside["stiffness"]`` is the factor of (θ − ``beside["anchor"]``) in that gradient, twos and
    strengths included; ``beside["pull"]``, where there is one, is a part that does not depend on
    θ. A parameter not in ``stiffness`` is free.
    """

    @torch.no_grad()
    def penalty(self, learner: Learner) -> None:
        """Add stiffness · (θ − anchor) + pull to the gradients.

        A parameter that the loss does not reach (another task's head) gets the penalty's gradient
        alone, as it would if the penalty were a part of the loss.
        """
        stiffness = self.beside.get("stiffness")
        if not stiffness:
            return
        parameters = named(learner)
        held: list[Tensor] = [parameters[name] for name in stiffness]
        for parameter in held:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        grads = [parameter.grad for parameter in held if parameter.grad is not None]
        anchors = [self.beside["anchor"][name] for name in stiffness]
        away = torch._foreach_sub(held, anchors)
        torch._foreach_addcmul_(grads, list(stiffness.values()), away)
        if pull := self.beside.get("pull"):
            torch._foreach_add_(grads, [pull[name] for name in stiffness])
