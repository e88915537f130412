"""Stability of the loss: the same network trained with and without the activity term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.core import Callback, Epoch, Network, Progress, Trainer
from sffa.core.batch import Array
from sffa.core.objective import LayerLoss

Floats = NDArray[np.float64]
WINDOW = 50
SPIKE = 1.5
OnEpoch = Callable[[int, float], object]


@dataclass(frozen=True)
class Trace:
    """Of each update: the cross-entropy without the term, and the mean activity of the layers."""

    loss: Floats
    activity: Floats
    updates_per_epoch: int

    def rises(self, window: int = WINDOW) -> Floats:
        """Return how far each loss lies above the median of the ``window`` before; zero at first.

        >>> loss = np.where(np.arange(100) == 80, 2.0, 1.0)
        >>> float(Trace(loss, loss, 10).rises().max())
        1.0
        """
        rises = np.zeros(len(self.loss))
        rises[window:] = self.loss[window:] - self._medians(window)
        return rises

    def spikes(self, window: int = WINDOW, factor: float = SPIKE) -> NDArray[np.int64]:
        """Return the updates whose loss exceeds ``factor`` times the ``window``'s median before.

        This is relative: the smaller the loss, the more of its spikes are the chance of a batch.

        >>> loss = np.where(np.arange(100) == 80, 2.0, 1.0)
        >>> Trace(loss, loss, 10).spikes().tolist()
        [80]
        """
        above = self.loss[window:] > factor * self._medians(window)
        return np.flatnonzero(above) + window

    def _medians(self, window: int) -> Floats:
        """Return the median of the ``window`` updates before each update that has as many."""
        if len(self.loss) <= window:
            return np.zeros(0)
        before = np.lib.stride_tricks.sliding_window_view(self.loss, window)[:-1]
        return np.asarray(np.median(before, axis=1))


class TracedNetwork(Network):
    """A network that keeps the cross-entropy and the activity of every loss it computes."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.trace: list[tuple[Tensor, Tensor]] = []

    def layer_losses(self, *given: Any, **options: Any) -> list[LayerLoss]:
        """See `Network.layer_losses`; keep the sum and the mean over the layers."""
        losses = super().layer_losses(*given, **options)
        bce = torch.stack([part.entropy.detach() for part in losses]).sum()
        activity = torch.stack([part.activity.detach() for part in losses]).mean()
        self.trace.append((bce, activity))
        return losses


class _Tell(Callback):
    """Pass the mean loss of every epoch to a listener."""

    def __init__(self, network: TracedNetwork, listener: OnEpoch) -> None:
        self.network, self.listener = network, listener

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        losses = [bce for bce, _ in self.network.trace[-progress.batches :]]
        self.listener(epoch.number, float(torch.stack(losses).mean()))


def trace(
    trainer: Trainer,
    x: Tensor | Array,
    y: Tensor | Array,
    epochs: int = 26,
    batch_size: int = 512,
    on_epoch: OnEpoch | None = None,
) -> Trace:
    """Train a trainer's `TracedNetwork` and return the cross-entropy of every update."""
    network = trainer.learner
    assert isinstance(network, TracedNetwork)
    callbacks = [] if on_epoch is None else [_Tell(network, on_epoch)]
    trainer.fit(x, y, epochs, batch_size, callbacks=callbacks)
    traced = torch.stack([torch.stack(pair) for pair in network.trace]).double().numpy()
    return Trace(traced[:, 0], traced[:, 1], -(-len(y) // batch_size))


def compare(
    x: Tensor | Array,
    y: Tensor | Array,
    classes: int,
    *,
    mean: float | Array = 0.0,
    std: float | Array = 1.0,
    hidden: tuple[int, ...] = (1400, 1400),
    epochs: int = 26,
    lr: float = 1e-3,
    seed: int = 0,
    on_epoch: OnEpoch | None = None,
    **options: object,
) -> dict[str, Trace]:
    """Train a ReLU network twice from the same weights: without the term, and with it.

    >>> import torch
    >>> x, y = torch.eye(4), torch.tensor([0, 0, 1, 1])
    >>> traces = compare(x, y, 2, hidden=(40, 40), epochs=3, k=5)
    >>> {name: traces[name].loss.shape for name in traces}
    {'without': (3,), 'with': (3,)}
    """
    traces = {}
    for name, activity in (("without", "none"), ("with", "multiply")):
        features = int(np.prod(x.shape[1:]))
        network = TracedNetwork(
            features,
            hidden,
            "sffa",
            range(classes),
            seed,
            activation="relu",
            activity=activity,
            **options,
        )
        network.standardise(mean, std)
        trainer = Trainer(network, lr=lr, negatives="uniform", seed=seed)
        traces[name] = trace(trainer, x, y, epochs=epochs, on_epoch=on_epoch)
    return traces
