"""A small dataset that can be learned in a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Part:
    """Examples ``x`` (N, features) and labels ``y`` (N,)."""

    x: Array
    y: Array


@dataclass(frozen=True)
class Toy:
    """Classes around random centres; see `toy`.

    >>> data = toy()
    >>> data.features, data.classes
    (20, 6)
    """

    train: Part
    test: Part
    classes: int = 6
    features: int = 20
    mean: float = 0.0
    std: float = 1.0
    name: str = "toy"


def toy(seed: int = 0, per_class: int = 40, classes: int = 6) -> Toy:
    """Make twenty features around one centre a class; ten test examples of each.

    >>> toy().train.x.shape
    (240, 20)
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, 20))

    def part(count: int) -> Part:
        y = rng.permutation(np.repeat(np.arange(classes), count))
        x = centres[y] + 0.7 * rng.normal(size=(len(y), 20))
        return Part(x.astype(np.float32), y.astype(np.int64))

    return Toy(part(per_class), part(10), classes)


def close(found: Tensor, wanted: Tensor, relative: float = 1e-4) -> bool:
    """Whether two tensors agree to rounding."""
    return torch.allclose(found, wanted, rtol=relative, atol=relative / 10)
