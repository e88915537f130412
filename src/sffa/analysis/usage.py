"""Usage of neurons over a dataset: their summed activity, their classes, the dead and the full."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.analysis.latents import forward_forward, latents
from sffa.analysis.sparsity import SHARE
from sffa.core import Network
from sffa.core.batch import Array
from sffa.core.learner import Learner

Floats = NDArray[np.float64]
FULL = 0.99
OFTEN = 0.95


@dataclass(frozen=True)
class Usage:
    """How one layer's neurons are used.

    Attributes
    ----------
    activity
        Summed latent of each neuron (n,) over the examples with their right labels.
    by_class
        The same for each class (classes, n).
    dead
        Never active, whatever the example and the label (n,).
    idle
        Never holds more than 1 % of a latent's activity: free for something new (n,).
    saturated
        At the top of a bounded activation in 95 % of the cases where it is active (n,).
    halves
        Groups of neurons: two in SFFA (positive first), one in FFA.

    Examples
    --------
    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, classes=range(10), seed=0)
    >>> from sffa.analysis import usage_of
    >>> first, second = usage_of(net, data.test.flat, data.test.y)
    >>> first.preferred.shape, 0 < first.concentration(0.9) <= 40
    ((40,), True)
    """

    activity: Floats
    by_class: Floats
    dead: NDArray[np.bool_]
    idle: NDArray[np.bool_]
    saturated: NDArray[np.bool_]
    halves: int

    @property
    def preferred(self) -> NDArray[np.int64]:
        """The class that each neuron is most active for; -1 for one that never is (n,)."""
        best = self.by_class.argmax(axis=0)
        return np.where(self.activity > 0, best, -1)

    @property
    def specialisation(self) -> Floats:
        """How much of a neuron's activity is its preferred class's: 0 for none more, 1 for all."""
        classes = len(self.by_class)
        total = self.by_class.sum(axis=0)
        share = np.divide(
            self.by_class.max(axis=0), total, out=np.zeros_like(total), where=total > 0
        )
        even = 1 / classes if classes > 1 else 0.0
        scaled: Floats = np.where(total > 0, (share - even) / (1 - even), 0.0)
        return scaled

    def concentration(self, share: float = 0.9) -> int:
        """Count the neurons, most active first, that together hold ``share`` of the activity."""
        ordered = np.sort(self.activity)[::-1].cumsum()
        if not len(ordered) or ordered[-1] == 0:
            return 0
        return int(np.searchsorted(ordered, share * ordered[-1]) + 1)


class _Tally:
    """Running sums of one layer while the examples pass by."""

    def __init__(self, classes: int, width: int) -> None:
        self.by_class = torch.zeros(classes, width, dtype=torch.float64)
        self.active = torch.zeros(width, dtype=torch.int64)
        self.prominent = torch.zeros(width, dtype=torch.bool)
        self.full = torch.zeros(width, dtype=torch.int64)

    def add(self, latent: Tensor, right: Tensor) -> None:
        """Take in latents (examples, candidates, width) whose right column is ``right``."""
        own = latent[torch.arange(len(right)), right].double().cpu()
        self.by_class.index_add_(0, right.cpu(), own)
        flat = latent.flatten(0, 1)
        self.active += (flat > 0).sum(dim=0).cpu()
        self.full += (flat > FULL).sum(dim=0).cpu()
        total = flat.sum(dim=1, keepdim=True)
        self.prominent |= (flat > SHARE * total).any(dim=0).cpu()


def usage_of(network: Learner, x: Tensor | Array, y: Tensor | Array) -> list[Usage]:
    """Follow every neuron of every layer over examples ``x`` with labels ``y``.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> net = sffa.Network(data.features, hidden=(40, 40), k=5, seed=0)
    >>> epochs = sffa.Trainer(net, lr=3e-3).fit(data.train.flat, data.train.y, epochs=1)
    >>> layers = usage_of(net, data.test.flat, data.test.y)
    >>> len(layers), layers[0].activity.shape, layers[0].by_class.shape
    (2, (40,), (10, 40))
    """
    net = forward_forward(network)
    right = net.columns(y)
    tallies = [_Tally(len(net.classes), layer.width) for layer in net.layers]  # type: ignore[arg-type]
    everything = net.candidates(len(right), None)
    for part, layers in latents(net, x, everything, block=256):
        for tally, latent in zip(tallies, layers, strict=True):
            tally.add(latent, right[part])
    return [_usage(net, tally) for tally in tallies]


def _usage(network: Network, tally: _Tally) -> Usage:
    bounded = network.config.activation == "sigmoid"
    often = (tally.full >= OFTEN * tally.active) & (tally.active > 0)
    return Usage(
        activity=tally.by_class.sum(dim=0).numpy(),
        by_class=tally.by_class.numpy(),
        dead=(tally.active == 0).numpy(),
        idle=(~tally.prominent).numpy(),
        saturated=(often & bounded).numpy(),
        halves=network.config.polarities,
    )


def as_map(values: NDArray[np.generic], rows: int = 28) -> NDArray[np.generic]:
    """Arrange neurons as a picture: 28×50 for the paper's 1400, padded where they do not fill it.

    >>> as_map(np.arange(1400)).shape
    (28, 50)
    """
    columns = -(-len(values) // rows)
    padded = np.full(rows * columns, np.nan)
    padded[: len(values)] = values
    return padded.reshape(rows, columns)
