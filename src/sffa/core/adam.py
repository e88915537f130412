"""Adam on the threads that the learner's own arithmetic runs on."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sffa.kernels import team

_WORK = 16  # multiply-adds that an update is worth: it waits for memory


class _Row(NamedTuple):
    parameter: Tensor
    grad: Tensor
    mean: Tensor
    square: Tensor
    step: Tensor


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
                moments = state["exp_avg"], state["exp_avg_sq"]
                row = _Row(parameter, parameter.grad, *moments, state["step"])
                work = _WORK * parameter.numel()
                if team.parts_for(work, len(parameter)) == 1:
                    small.append(row)
                else:
                    team.run(partial(_update_part, group, row), len(parameter), work)
            if small:
                _update(group, small)

    def _state_of(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return step, mean and mean square of a parameter, which begin at zero."""
        state: dict[str, Tensor] = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter, requires_grad=False)
            state["exp_avg_sq"] = torch.zeros_like(parameter, requires_grad=False)
        return state


def _update_part(group: dict[str, Any], row: _Row, first: int, last: int) -> None:
    weight, grad, mean, square, step = row
    part = slice(first, last)
    _update(group, [_Row(weight[part], grad[part], mean[part], square[part], step)])


def _update(group: dict[str, Any], rows: list[_Row]) -> None:
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
