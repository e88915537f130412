"""Accuracy layer by layer: what each layer knows alone, and what the first ones know together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sffa.analysis.latents import BLOCK, forward_forward
from sffa.core.batch import Array
from sffa.core.learner import Learner


@dataclass(frozen=True)
class Depth:
    """Accuracies in percent, one a layer: of the layer ``alone``, and of all ``upto`` it.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, classes=range(10), seed=0)
    >>> from sffa.analysis import accuracy_by_layer
    >>> found = accuracy_by_layer(net, data.test.flat, data.test.y)
    >>> found.alone[0] == found.upto[0]
    True
    """

    alone: list[float]
    upto: list[float]


@torch.no_grad()
def accuracy_by_layer(network: Learner, x: Tensor | Array, y: Tensor | Array) -> Depth:
    """Predict with each layer, and with the mean goodness of the first layers.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, seed=0)
    >>> epochs = sffa.Trainer(net, lr=3e-3).fit(data.train.flat, data.train.y, epochs=1)
    >>> found = accuracy_by_layer(net, data.test.flat, data.test.y)
    >>> len(found.alone), len(found.upto)
    (2, 2)
    """
    net = forward_forward(network)
    right = net.columns(y)
    alone = torch.zeros(len(net.layers), dtype=torch.int64)
    upto = torch.zeros(len(net.layers), dtype=torch.int64)
    for start in range(0, len(right), BLOCK):
        scores = net.layer_scores(x[start : start + BLOCK])
        wanted = right[start : start + BLOCK]
        alone += (scores.argmax(dim=2) == wanted).sum(dim=1).cpu()
        upto += (scores.cumsum(dim=0).argmax(dim=2) == wanted).sum(dim=1).cpu()
    percent = 100.0 / max(len(right), 1)
    return Depth((alone * percent).tolist(), (upto * percent).tolist())
