"""Adam on the threads that the learner's own arithmetic runs on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sffa.kernels import team


class Adam(torch.optim.Adam):
    """torch's fused Adam; inside `team.one_thread` its large parameters are cut into parts."""

    def __init__(self, parameters: list[Tensor], lr: float) -> None:
        super().__init__([{"params": parameters}], lr=lr, fused=True)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Change every parameter that has a gradient."""
        if not team.limited():
            super().step(closure)
            return
        for group in self.param_groups:
            given = [p for p in group["params"] if p.grad is not None]
            states = [self._state_of(parameter) for parameter in given]
            if given:
                torch._foreach_add_([state["step"] for state in states], 1)
            small = []
            for parameter, state in zip(given, states, strict=True):
                tensors = parameter, parameter.grad, state["exp_avg"], state["exp_avg_sq"]
                work = 4 * parameter.numel()
                if team.parts_for(work, len(parameter)) == 1:
                    small.append((*tensors, state["step"]))
                    continue

                def part(i: int, j: int, tensors: Any = tensors, step: Tensor = state["step"]) -> None:
                    self._update(group, [(*(tensor[i:j] for tensor in tensors), step)])

                team.run(part, len(parameter), work)
            if small:
                self._update(group, small)

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return step, mean and mean square of a parameter, which begin at zero."""
        state: dict[str, Tensor] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter, requires_grad=False)
            state["exp_avg_sq"] = torch.zeros_like(parameter, requires_grad=False)
        return state

    @staticmethod
    def _update(group: dict[str, Any], rows: list[tuple[Tensor, ...]]) -> None:
        parameters, grads, means, squares, steps = (list(column) for column in zip(*rows, strict=True))
        beta1, beta2 = group["betas"]
        torch._fused_adam_(
            parameters,
            grads,
            means,
            squares,
            [],
            steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )
