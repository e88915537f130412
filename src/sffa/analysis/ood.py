"""Out of distribution: telling inputs the network was not made for by their goodness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.analysis.latents import BLOCK, forward_forward
from sffa.core.learner import Array, Learner
from sffa.errors import ConfigurationError, DataError, nearest

Floats = NDArray[np.float64]
SCORES = ("goodness", "margin", "energy")


@dataclass(frozen=True)
class Separation:
    """How well a score tells familiar inputs (high) from foreign ones (low).

    ``auroc`` is 0.5 for chance; ``fpr95`` the share of foreign inputs that pass where 95 % of
    the familiar ones do; ``fpr`` and ``tpr`` the curve.
    """

    auroc: float
    fpr95: float
    fpr: Floats
    tpr: Floats


@torch.no_grad()
def familiarity(network: Learner, x: Tensor | Array, score: str = "goodness") -> Floats:
    """Score inputs (N,), high for familiar ones.

    ``goodness``: of the best label; ``margin``: what the best label has over the second;
    ``energy``: all the activity under the best label, summed over layers.
    """
    net = forward_forward(network)
    if score not in SCORES:
        hint = nearest(score, list(SCORES))
        raise ConfigurationError(f"unknown score '{score}'{hint} (known: {', '.join(SCORES)})")
    blocks = [
        _block(net, x[start : start + BLOCK], score).double().cpu()
        for start in range(0, len(x), BLOCK)
    ]
    return torch.cat(blocks).numpy() if blocks else np.zeros(0)


def _block(net: Learner, x: Tensor | Array, score: str) -> Tensor:
    network = forward_forward(net)
    responses = list(network.scan(x, network.candidates(len(x), None)))
    goodness = torch.stack(
        [
            layer.goodness.score(response.energies)  # type: ignore[union-attr, operator]
            for layer, response in zip(network.layers, responses, strict=True)
        ]
    ).mean(dim=0)
    if score == "goodness" or (score == "margin" and goodness.shape[1] == 1):
        return goodness.amax(dim=1)
    if score == "margin":
        first, second = goodness.topk(2, dim=1).values.unbind(dim=1)
        return first - second
    energy = torch.stack([torch.stack(r.energies).sum(dim=0) for r in responses]).sum(dim=0)
    return energy.gather(1, goodness.argmax(dim=1, keepdim=True)).squeeze(1)


def separation(familiar: Floats, foreign: Floats) -> Separation:
    """Compare the scores of familiar and of foreign inputs.

    >>> separation(np.array([0.8, 0.9]), np.array([0.1, 0.2])).auroc
    1.0
    """
    if not len(familiar) or not len(foreign):
        raise DataError("a separation needs familiar and foreign inputs, one of them is empty")
    from sklearn.metrics import roc_auc_score, roc_curve

    truth = np.r_[np.ones(len(familiar)), np.zeros(len(foreign))]
    scores = np.r_[familiar, foreign]
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=True)
    passing = int(np.argmax(tpr >= 0.95))
    return Separation(float(roc_auc_score(truth, scores)), float(fpr[passing]), fpr, tpr)


def noise(count: int, features: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw images of even noise, as bytes (count, features)."""
    return rng.integers(0, 256, size=(count, features), dtype=np.uint8)
