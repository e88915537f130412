"""Out of distribution: telling inputs the network was not made for by their goodness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.analysis.latents import BLOCK, forward_forward
from sffa.core import Network
from sffa.core.batch import Array
from sffa.core.learner import Learner
from sffa.errors import ConfigurationError, DataError, nearest

Floats = NDArray[np.float64]
SCORES = ("goodness", "margin", "energy")


@dataclass(frozen=True)
class Separation:
    """How well a score tells familiar inputs (high) from foreign ones (low).

    ``auroc`` is 0.5 for chance; ``fpr95`` the share of foreign inputs that pass where 95 % of
    the familiar ones do; ``fpr`` and ``tpr`` the curve.

    >>> found = separation(np.array([0.8, 0.9]), np.array([0.1, 0.85]))
    >>> found.auroc
    0.75
    """

    auroc: float
    fpr95: float
    fpr: Floats
    tpr: Floats


def familiarity(network: Learner, x: Tensor | Array, score: str = "goodness") -> Floats:
    """Score inputs (N,), high for familiar ones; see `familiarities` for the scores.

    >>> import numpy as np
    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, seed=0)
    >>> epochs = sffa.Trainer(net, lr=3e-3).fit(data.train.flat, data.train.y, epochs=1)
    >>> from sffa.analysis import noise, separation
    >>> foreign = noise(100, data.features, np.random.default_rng(0))
    >>> scores = [familiarity(net, x) for x in (data.test.flat, foreign)]
    >>> scores[0].shape, 0 <= separation(*scores).auroc <= 1
    ((360,), True)
    """
    if score not in SCORES:
        hint = nearest(score, list(SCORES))
        raise ConfigurationError(f"unknown score '{score}'{hint} (known: {', '.join(SCORES)})")
    return familiarities(network, x)[score]


@torch.no_grad()
def familiarities(network: Learner, x: Tensor | Array) -> dict[str, Floats]:
    """Return every score of inputs (N,), from one label scan.

    ``goodness``: of the best label; ``margin``: what the best label has over the second;
    ``energy``: all the activity under the best label, summed over layers.
    """
    net = forward_forward(network)
    blocks = [_block(net, x[start : start + BLOCK]) for start in range(0, len(x), BLOCK)]
    if not blocks:
        return {score: np.zeros(0) for score in SCORES}
    table = torch.cat(blocks, dim=1).double().cpu().numpy()
    return dict(zip(SCORES, table, strict=True))


def _block(network: Network, x: Tensor | Array) -> Tensor:
    """Return the scores of one block (scores, examples), in the order of ``SCORES``."""
    responses = list(network.scan(x, network.candidates(len(x), None)))
    goodness = torch.stack(
        [
            layer.goodness.score(response.energies)  # type: ignore[union-attr, operator]
            for layer, response in zip(network.layers, responses, strict=True)
        ]
    ).mean(dim=0)
    energy = torch.stack([torch.stack(r.energies).sum(dim=0) for r in responses]).sum(dim=0)
    best = goodness.argmax(dim=1, keepdim=True)
    first = goodness.gather(1, best).squeeze(1)
    others = goodness.scatter(1, best, -torch.inf).amax(dim=1)
    margin = torch.where(others.isfinite(), first - others, first)
    return torch.stack([first, margin, energy.gather(1, best).squeeze(1)])


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
    """Draw images of even noise, as bytes (count, features).

    >>> noise(2, 64, np.random.default_rng(0)).shape
    (2, 64)
    """
    return rng.integers(0, 256, size=(count, features), dtype=np.uint8)
