"""Sparsity of latents: how few neurons carry the activity, for positive and negative inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.analysis.latents import forward_forward, latents, wrong_columns
from sffa.core.batch import Array
from sffa.core.learner import Learner

SHARE = 0.01


@dataclass(frozen=True)
class Sparsity:
    """Of each layer and each input: the Hoyer score and the number of highly active neurons.

    The arrays are (layers, examples); the right label for ``positive``, a wrong one for
    ``negative``.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, classes=range(10), seed=0)
    >>> from sffa.analysis import sparsity_of
    >>> found = sparsity_of(net, data.test.flat, data.test.y, np.random.default_rng(0))
    >>> sorted(found.mean_hoyer()), found.width
    (['negative', 'positive'], 40)
    """

    width: int
    hoyer: dict[str, NDArray[np.float64]]
    active: dict[str, NDArray[np.int64]]

    def mean_hoyer(self) -> dict[str, float]:
        """Average over inputs and layers, as in the paper's table (appendix C)."""
        return {sign: float(values.mean()) for sign, values in self.hoyer.items()}


def hoyer(latent: Tensor) -> Tensor:
    """Return Hoyer's sparsity along the last axis: 1 for one active neuron, 0 for equal ones.

    ``(√n − ‖h‖₁/‖h‖₂)/(√n − 1)``; a latent that is zero everywhere counts as sparse: 1.

    >>> hoyer(torch.tensor([[0.0, 3.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]))
    tensor([1., 0.])
    """
    root = latent.shape[-1] ** 0.5
    if root == 1:
        return torch.ones_like(latent[..., 0])
    norm = latent.norm(dim=-1)
    ratio = latent.abs().sum(dim=-1) / norm.clamp(min=torch.finfo(latent.dtype).tiny)
    return torch.where(norm > 0, (root - ratio) / (root - 1), 1.0)


def highly_active(latent: Tensor, share: float = SHARE) -> Tensor:
    """Count the neurons that hold more than ``share`` of a latent's activity (last axis).

    >>> highly_active(torch.tensor([0.5, 0.49, 0.01, 0.0]))
    tensor(2)
    """
    total = latent.sum(dim=-1, keepdim=True)
    return (latent > share * total).sum(dim=-1)


def sparsity_of(
    network: Learner, x: Tensor | Array, y: Tensor | Array, rng: np.random.Generator
) -> Sparsity:
    """Measure the latents of examples ``x`` shown with their labels ``y`` and with wrong ones.

    >>> import numpy as np
    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, seed=0)
    >>> epochs = sffa.Trainer(net, lr=3e-3).fit(data.train.flat, data.train.y, epochs=1)
    >>> found = sparsity_of(net, data.test.flat, data.test.y, np.random.default_rng(0))
    >>> found.hoyer["positive"].shape, found.active["negative"].shape  # layers, examples
    ((2, 360), (2, 360))
    """
    net = forward_forward(network)
    right = net.columns(y)
    pair = torch.stack([right, wrong_columns(net, right, rng)], dim=1)
    scores: list[Tensor] = []
    counts: list[Tensor] = []
    for _, layers in latents(net, x, pair):
        scores.append(torch.stack([hoyer(latent) for latent in layers]))
        counts.append(torch.stack([highly_active(latent) for latent in layers]))
    score = torch.cat(scores, dim=1).double().cpu().numpy()
    count = torch.cat(counts, dim=1).cpu().numpy()
    return Sparsity(
        width=max(net.config.hidden),
        hoyer={"positive": score[..., 0], "negative": score[..., 1]},
        active={"positive": count[..., 0], "negative": count[..., 1]},
    )
