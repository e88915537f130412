"""What an epoch goes through: examples, labels and weights, cut into batches by place."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from sffa.core.batch import Array, Batch, tensor_of, whole_numbers
from sffa.core.offload import Latents
from sffa.errors import DataError


class Examples(Protocol):
    """What an epoch goes through: batches are cut out of it by place.

    With ``weights`` (N,), if it has them, each example counts that much in the loss; ``known`` are
    the latents of the layer below the one that is trained, if they are at hand.
    """

    def __len__(self) -> int: ...

    def take(self, places: Tensor) -> Batch:
        """Return the examples at some places."""
        ...


class Arrays:
    """Examples (N, ...), labels (N,) and weights (N,), if any, on the learner's device."""

    def __init__(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> None:
        self.x, self.y, self.weights = x, y, weights
        self.known: Latents | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, places: Tensor) -> Batch:
        """Return the examples at some places."""
        chosen = places.to(self.x.device)
        return Batch(self.x[chosen], self.y[chosen])


def pair_of(x: Tensor | Array, y: Tensor | Array, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return examples (N, ...) and labels (N,) as tensors; refuse what does not go together."""
    x, y = tensor_of(x, device), whole_numbers(y, device)
    if y.ndim > 1:
        raise DataError(f"expected one label an example, got the shape {tuple(y.shape)}")
    if x.ndim < 2 or not y.ndim:
        raise DataError(
            f"examples are (N, features) and labels (N,), got the shapes {tuple(x.shape)} and "
            f"{tuple(y.shape)}"
        )
    if len(x) != len(y) or not len(x):
        raise DataError(f"a batch needs as many labels as examples, got {len(x)} and {len(y)}")
    return x, y


def weights_of(weight: Tensor | Array | None, size: int, device: torch.device) -> Tensor | None:
    """Return what each example counts (N,); None: one."""
    if weight is None:
        return None
    weights = tensor_of(weight, device).float()
    if weights.shape != (size,) or not bool((weights.isfinite() & (weights >= 0)).all()):
        raise DataError(f"expected {size} weights, finite and not negative")
    return weights
