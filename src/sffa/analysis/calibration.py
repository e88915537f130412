"""Calibration: whether a goodness of 0.8 is right in eight cases of ten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.analysis.latents import BLOCK, forward_forward
from sffa.core.batch import Array
from sffa.core.layers import Layer
from sffa.core.learner import Learner
from sffa.errors import DataError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """Predictions in bins of equal width: how sure (mean), how often right, how many."""

    edges: Floats
    confidence: Floats
    frequency: Floats
    count: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The expected calibration error: the gap of each bin, weighted by its predictions."""
        total = self.count.sum()
        gap = np.abs(np.nan_to_num(self.confidence) - np.nan_to_num(self.frequency))
        return float((gap * self.count).sum() / total) if total else 0.0


@dataclass(frozen=True)
class Calibration:
    """Of every (example, label) pair being positive, and of the predicted label being right.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, classes=range(10), seed=0)
    >>> from sffa.analysis import calibration_of
    >>> 0 <= calibration_of(net, data.test.flat, data.test.y).predicted.error <= 1
    True
    """

    pairs: Reliability
    predicted: Reliability


def reliability(probability: Floats, right: NDArray[np.bool_], bins: int = 15) -> Reliability:
    """Sort predictions into bins by their probability and compare with how often they are right.

    >>> curve = reliability(np.array([0.9, 0.9, 0.1, 0.1]), np.array([True, True, False, False]), 2)
    >>> curve.frequency.tolist(), round(curve.error, 3)
    ([0.0, 1.0], 0.1)
    """
    p = np.asarray(probability, dtype=np.float64).reshape(-1)
    hit = np.asarray(right, dtype=bool).reshape(-1)
    if p.shape != hit.shape:
        raise DataError(f"{p.size} probabilities do not go with {hit.size} outcomes")
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise DataError(f"probabilities lie in [0, 1], got {p.min():g} to {p.max():g}")
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(place, weights=p, minlength=bins) / count
        frequency = np.bincount(place, weights=hit, minlength=bins) / count
    return Reliability(np.linspace(0, 1, bins + 1), confidence, frequency, count)


@torch.no_grad()
def probabilities(network: Learner, x: Tensor | Array) -> Tensor:
    """Return the mean over layers of the probability that each label is right (N, classes)."""
    net = forward_forward(network)
    blocks = []
    for start in range(0, len(x), BLOCK):
        part = x[start : start + BLOCK]
        responses = net.scan(part, net.candidates(len(part), None))
        layers = [
            _probability(layer, response.energies)  # type: ignore[arg-type]
            for layer, response in zip(net.layers, responses, strict=True)
        ]
        blocks.append(torch.stack(layers).mean(dim=0))
    return torch.cat(blocks) if blocks else torch.zeros(0, len(net.classes))


def calibration_of(
    network: Learner, x: Tensor | Array, y: Tensor | Array, bins: int = 15
) -> Calibration:
    """Compare the goodness of examples ``x`` under every label with the truth ``y``.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, seed=0)
    >>> epochs = sffa.Trainer(net, lr=3e-3).fit(data.train.flat, data.train.y, epochs=1)
    >>> found = calibration_of(net, data.test.flat, data.test.y)
    >>> int(found.pairs.count.sum()), int(found.predicted.count.sum())  # pairs of image and label
    (3600, 360)
    """
    right = network.columns(y).cpu().numpy()
    p = probabilities(network, x).double().cpu().numpy()
    best = p.argmax(axis=1)
    truth = np.arange(p.shape[1])[None, :] == right[:, None]
    sure = p[np.arange(len(p)), best]
    return Calibration(reliability(p, truth, bins), reliability(sure, best == right, bins))


def _probability(layer: Layer, energies: tuple[Tensor, ...]) -> Tensor:
    return layer.goodness.probability(energies)
