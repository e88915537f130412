"""Stability of the loss: the same network trained with and without the activity term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.core import Network, Trainer
from sffa.core import negatives as negative_room
from sffa.core.goodness import Goodness
from sffa.core.layers import Response
from sffa.core.learner import Array
from sffa.core.objective import total_activity, with_activity

Floats = NDArray[np.float64]
WINDOW = 50
SPIKE = 1.5


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


def trace(
    trainer: Trainer,
    x: Tensor | Array,
    y: Tensor | Array,
    epochs: int = 26,
    batch_size: int = 512,
    on_epoch: Callable[[int, float], object] | None = None,
) -> Trace:
    """Train the trainer's network and keep the cross-entropy of every update.

    The updates are those of `Trainer.step`; only what is written down differs.
    """
    network = trainer.learner
    assert isinstance(network, Network)
    examples, labels = torch.as_tensor(x), torch.as_tensor(y)
    losses: list[Tensor] = []
    activities: list[Tensor] = []
    batches = 0
    for epoch in range(epochs):
        order = torch.from_numpy(trainer.rng.permutation(len(labels)))
        chunks = torch.split(order, batch_size)
        batches = len(chunks)
        for chosen in chunks:
            bce, activity = _update(trainer, network, examples[chosen], labels[chosen])
            losses.append(bce)
            activities.append(activity)
        if on_epoch is not None:
            on_epoch(epoch + 1, float(torch.stack(losses[-batches:]).mean()))
    return Trace(
        torch.stack(losses).double().numpy(), torch.stack(activities).double().numpy(), batches
    )


def _update(trainer: Trainer, network: Network, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Take one step and give the cross-entropy and the activity it was taken at."""
    pairs = negative_room.draw(trainer.negatives, network, x, y, trainer.rng)
    column = network.columns(y)
    if pairs is None:
        pairs = network.candidates(len(y), None)
    target = pairs == column[:, None]
    trainer.optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    losses_, activities = [], []
    for layer, response in zip(network.layers, network.scan(x, pairs), strict=True):
        bce = _bce(layer.goodness, response, target)  # type: ignore[arg-type]
        activity = total_activity(response, target, pairs >= 0)
        total = total + with_activity(network.config, bce, activity)
        losses_.append(bce.detach())
        activities.append(activity.detach())
    total.backward()  # type: ignore[no-untyped-call]
    trainer.optimizer.step()
    return torch.stack(losses_).sum(), torch.stack(activities).mean()


def _bce(goodness: Goodness, response: Response, target: Tensor) -> Tensor:
    return goodness.bce(response.energies, target).mean()


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
    on_epoch: Callable[[int, float], object] | None = None,
    **options: object,
) -> dict[str, Trace]:
    """Train a ReLU network twice from the same weights: without the term, and with it."""
    traces = {}
    for name, activity in (("without", "none"), ("with", "multiply")):
        features = int(np.prod(x.shape[1:]))
        network = Network(
            features,
            hidden,
            "sffa",
            range(classes),
            seed,
            activation="relu",
            activity=activity,
            **options,  # type: ignore[arg-type]
        )
        network.standardise(mean, std)
        trainer = Trainer(network, lr=lr, negatives="uniform", seed=seed)
        traces[name] = trace(trainer, x, y, epochs=epochs, on_epoch=on_epoch)
    return traces
