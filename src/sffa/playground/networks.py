"""The networks of the playground: trained when first asked for, then shared by all sessions."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from sffa.analysis import sparsity_of
from sffa.analysis.latents import latents
from sffa.core import Callback, Network, Progress, Trainer, make
from sffa.core.seeds import generator
from sffa.data import Dataset
from sffa.data.dataset import Array
from sffa.errors import ConfigurationError, SFFAError, nearest
from sffa.playground.material import Material
from sffa.vocabulary import name_of

HIDDEN = (200, 200)
ALGORITHMS = {
    "sffa-contrast": "Labels compete within each layer: learns fastest.",
    "sffa": "The paper's: each label is judged by itself.",
    "sffa-gated": "Each label may use only a fifth of the neurons, its own.",
    "ffa": "Hinton's: one kind of neuron, no winners; the energy of a layer counts.",
}
TRAINING: dict[str, Any] = {"epochs": 2, "batch_size": 64}
LR = 3e-3
THREAD = "sffa-playground"  # name of every thread that trains
# Several tabs read at once, also while one learns; numba's loops may not run twice at once.
READING, LEARNING = "torch", "auto"


class EndedError(SFFAError):
    """A training that was stopped because the playground ends."""


class Stopping(Callback):
    """Stop whatever trains, once asked to."""

    asked = False

    def on_batch_end(self, progress: Progress) -> bool:
        """Whether to stop here."""
        return self.asked


NEVER = Stopping()


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, its accuracy in percent, and its sparsity: Hoyer's score and active neurons."""

    algorithm: str
    network: Network
    accuracy: float
    hoyer: float
    active: float

    def about(self) -> dict[str, Any]:
        """Return what the page says of it."""
        config = self.network.config
        return {
            "algorithm": self.algorithm,
            "name": name_of(self.algorithm),
            "about": ALGORITHMS[self.algorithm],
            "accuracy": self.accuracy,
            "hoyer": self.hoyer,
            "active": self.active,
            "widths": list(config.hidden),
            "polarities": config.polarities,
        }


class Networks:
    """Trained networks by algorithm. Who trains anything holds ``computing``: one at a time."""

    def __init__(self, material: Material, seed: int = 0) -> None:
        self.material = material
        self.seed = seed
        self._trained: dict[str, Trained] = {}
        self.computing = threading.RLock()

    def get(self, algorithm: str, stopping: Stopping = NEVER) -> Trained:
        """Return a network, trained now if nobody asked for it before."""
        if checked(algorithm) not in self._trained:
            with self.computing:
                if algorithm not in self._trained:
                    trained = train(algorithm, self.material.data, self.seed, stopping)
                    self._trained[algorithm] = trained
        return self._trained[algorithm]


def checked(algorithm: str) -> str:
    """Return the name of an algorithm, or refuse one that the playground does not have."""
    if algorithm not in ALGORITHMS:
        hint = nearest(algorithm, list(ALGORITHMS))
        raise ConfigurationError(f"unknown algorithm '{algorithm[:40]}'{hint}")
    return algorithm


def train(algorithm: str, data: Dataset, seed: int = 0, stopping: Stopping = NEVER) -> Trained:
    """Train a small network of that name, and look at its accuracy and sparsity."""
    network = make(algorithm, data.features, HIDDEN, classes=range(data.classes), seed=seed)
    assert isinstance(network, Network)
    network.standardise(data.mean, data.std)
    trainer = Trainer(network, lr=LR, seed=seed, lr_schedule="cosine")
    trainer.fit(data.train.x, data.train.y, callbacks=[stopping], **TRAINING)
    if stopping.asked:
        raise EndedError("the playground has ended")
    network.backend = READING
    found = sparsity_of(network, data.test.flat, data.test.y, generator(seed, "sparsity"))
    return Trained(
        algorithm,
        network,
        accuracy_of(network, data),
        found.mean_hoyer()["positive"],
        float(found.active["positive"].mean()),
    )


def accuracy_of(network: Network, data: Dataset) -> float:
    """Return the percentage of test examples that are named right."""
    return 100.0 * float((network.predict(data.test.flat) == data.test.y).mean())


def reading(network: Network, picture: Array, look: int | None = None) -> dict[str, Any]:
    """Return what a network makes of a picture: the goodness of each label, layer by layer.

    ``layers`` are the latents under the label ``look``, or under the best one.
    """
    x = np.ascontiguousarray(picture.reshape(1, -1))
    with torch.no_grad():
        by_layer = network.layer_scores(x)[:, 0]
    scores = by_layer.mean(dim=0)
    best = int(scores.argmax())
    shown = network.classes.index(look) if look in network.classes else best
    ((_, found),) = latents(network, x, torch.tensor([shown]))
    return {
        "best": network.classes[best],
        "shown": network.classes[shown],
        "scores": _rounded(scores),
        "by_layer": [_rounded(layer) for layer in by_layer],
        "layers": [_rounded(layer[0, 0]) for layer in found],
    }


def _rounded(values: torch.Tensor) -> list[float]:
    return [round(value, 4) for value in values.tolist()]
