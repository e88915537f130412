"""Parameters that grow: where each old entry went, for whoever keeps state beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Growth:
    """A parameter replaced by a larger one, or a new one (``old`` is None).

    ``places`` tells, for each dimension, at which indices of the new one the old entries stand.

    >>> import torch
    >>> old, new = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))
    >>> Growth("bias", old, new, (torch.arange(2),)).expand(torch.tensor([5.0, 7.0]))
    tensor([5., 7., 0.])
    """

    name: str
    old: nn.Parameter | None
    new: nn.Parameter
    places: tuple[Tensor, ...] = ()

    def expand(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the old shape the new one, with zeros at the new entries."""
        grown = tensor.new_zeros(self.new.shape)
        grown[torch.meshgrid(*self.places, indexing="ij")] = tensor
        return grown


def grow(parameter: nn.Parameter, fresh: Tensor, places: tuple[Tensor, ...], name: str) -> Growth:
    """Make the larger parameter: ``fresh`` values, with the old ones at their places."""
    values = fresh.to(parameter.device).clone()
    values[torch.meshgrid(*places, indexing="ij")] = parameter.detach()
    return Growth(name, parameter, nn.Parameter(values), places)


def update_optimizer(optimizer: torch.optim.Optimizer, growths: Sequence[Growth]) -> None:
    """Let an optimiser take the grown parameters; their moments start anew, as in Avalanche 0.6.

    Moments kept for old entries would come with a step count that is wrong for the new ones: their
    first steps would be three times too large.
    """
    for growth in growths:
        if growth.old is None:
            optimizer.param_groups[0]["params"].append(growth.new)
            continue
        for group in optimizer.param_groups:
            group["params"] = [growth.new if p is growth.old else p for p in group["params"]]
        optimizer.state.pop(growth.old, None)
