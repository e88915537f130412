"""Negatives: which wrong labels an example is shown with."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from sffa.core.network import Network

Negatives = Literal["all", "uniform", "hard"]
KINDS: tuple[Negatives, ...] = ("all", "uniform", "hard")


def draw(
    kind: Negatives, network: Network, x: Tensor, y: Tensor, rng: np.random.Generator
) -> Tensor | None:
    """Give the labels to contrast each example with: all (None), or its own and one wrong one.

    ``uniform`` draws the wrong label evenly (the paper); ``hard`` in proportion to how good the
    network finds it. The pair is (batch, 2), true label first; a single class has no wrong one.
    """
    if kind == "all":
        return None
    column = network.columns(y)
    count = len(network.classes)
    if count == 1:
        return column[:, None]
    draws = torch.from_numpy(rng.random(len(column), dtype=np.float32)).to(column.device)
    if kind == "uniform":
        wrong = (column + 1 + (draws * (count - 1)).long().clamp(max=count - 2)) % count
    else:
        wrong = _proportional(network.scores(x), column, draws)
    return torch.stack([column, wrong], dim=1)


def _proportional(goodness: Tensor, column: Tensor, draws: Tensor) -> Tensor:
    """Choose a wrong label for each example with probability proportional to its goodness."""
    weights = goodness.clamp(min=1e-9).scatter(1, column[:, None], 0.0)
    cumulated = weights.double().cumsum(dim=1)
    level = draws.double()[:, None] * cumulated[:, -1:]
    chosen = torch.searchsorted(cumulated, level, right=True).squeeze(1)
    last = weights.shape[1] - 1
    chosen = chosen.clamp(max=last)
    clash = chosen == column  # only by rounding at the very end of the scale
    return torch.where(clash, (column + 1) % (last + 1), chosen)
