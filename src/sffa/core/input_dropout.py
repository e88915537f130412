"""Input dropout: some values of each training example are hidden, so that none is relied on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def with_gaps(x: Tensor, share: float, mean: Tensor, rng: np.random.Generator) -> Tensor:
    """Return examples (batch, …) with a share of their values, drawn anew, set to the mean.

    Pixels as bytes become shares of 255. What is left is not made larger, as in dropout of hidden
    units: a hidden value says what an input says on average, which is zero once standardised.

    >>> rng = np.random.default_rng(0)
    >>> gaps = with_gaps(torch.ones(200, 500), 0.25, torch.zeros(1), rng)
    >>> round(1 - gaps.mean().item(), 2)
    0.25
    """
    values = x.reshape(len(x), -1).float()
    if x.dtype == torch.uint8:
        values = values / 255
    hidden = torch.from_numpy(rng.random(values.shape, np.float32) < share)
    return torch.where(hidden.to(x.device), mean, values).reshape(x.shape)
