"""Adam on the threads that the learner's own arithmetic runs on."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from sffa.kernels import team

if TYPE_CHECKING:
    from sffa.kernels.openmp import Call

_MOMENTS = ("exp_avg", "exp_avg_sq", "step")
_WORK = 4  # multiply-adds that an update is worth: it waits for memory


class Adam(torch.optim.Adam):
    """torch's fused Adam; inside `team.one_thread`, the same as one compiled loop."""

    def __init__(self, parameters: list[Tensor], lr: float) -> None:
        super().__init__([{"params": parameters}], lr=lr, fused=True)
        self._calls: dict[int, tuple[Call, list[Any]]] = {}  # by group, with the counts of steps

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Do as torch's, without importing its compiler, which takes as long as torch itself."""
        _bare(torch.optim.Optimizer.add_param_group)(self, param_group)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what is pickled, which has no loops in it."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._calls = {}

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Change every parameter that has a gradient."""
        if not team.limited() or not self._stepped_in_loops():
            with torch.no_grad():
                _bare(torch.optim.Adam.step)(self, closure)

    def _stepped_in_loops(self) -> bool:
        """Whether there is a loop for every group, which has then made the step."""
        tensors = [self._tensors_of(group) for group in self.param_groups]
        if not all(map(self._ready, range(len(tensors)), tensors)):
            return False
        for number, (group, given) in enumerate(zip(self.param_groups, tensors, strict=True)):
            if given:
                call, steps = self._calls[number]
                for step in steps:
                    np.add(step, 1, out=step)
                call.set_numbers(len(steps), float(group["lr"]), *group["betas"], group["eps"])
                call.run()
        return True

    def _tensors_of(self, group: dict[str, Any]) -> list[Tensor]:
        """Return each parameter that has a gradient, with that, mean, mean square and step."""
        tensors: list[Tensor] = []
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is not None:
                state = self.state[parameter] or self._begin(parameter)
                tensors += (parameter, grad, *(state[key] for key in _MOMENTS))
        return tensors

    def _begin(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return a new state of a parameter: all zero."""
        state: dict[str, Tensor] = self.state[parameter]
        state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        for key in ("exp_avg", "exp_avg_sq"):
            state[key] = torch.zeros_like(parameter, requires_grad=False)
        return state

    def _ready(self, number: int, tensors: list[Tensor]) -> bool:
        """Whether there is a loop for a group, kept or made."""
        kept, group = self._calls.get(number), self.param_groups[number]
        if group["weight_decay"] or group["amsgrad"] or group["maximize"]:
            return False
        if kept is not None and kept[0].holds(tensors):
            return True
        from sffa.kernels import openmp, tasks

        if not all(openmp.fits(tensor) for tensor in tensors):
            return False
        size = sum(parameter.numel() for parameter in tensors[::5])
        call = openmp.Call(tasks.adam, tensors, size=size, work=_WORK * size)
        self._calls[number] = call, [step.numpy() for step in tensors[4::5]]
        return True


def _bare(method: Any) -> Any:
    """Return a method of torch's without what guards it from torch's compiler, if it is wrapped."""
    return inspect.unwrap(method)
