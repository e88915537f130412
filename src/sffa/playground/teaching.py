"""Teaching a class by a few drawings, beside what statistics of the known classes draw."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from sffa.continual import Experience, Gaussian, View
from sffa.core import Batch, Callback, Network, Trainer
from sffa.core.seeds import generator
from sffa.data.dataset import Array
from sffa.playground.material import SIDE, pooled
from sffa.playground.networks import LEARNING, READING

FINE = 4  # pixels of a drawing for each pixel that the networks see, along a side
EPOCHS = 10
BATCH = 16  # drawings in a step
VARIANTS = 160  # in an epoch
DREAMED = 160  # pseudo-examples in a step
LR = 1e-3


@dataclass(frozen=True, eq=False)
class Variants:
    """Drawings as an epoch goes through them: each time turned, moved and scaled a little."""

    drawings: Array
    label: int
    rng: np.random.Generator

    def __len__(self) -> int:
        return VARIANTS

    def take(self, places: Tensor) -> Batch:
        """Return a new variant for each place."""
        chosen = self.drawings[places.numpy() % len(self.drawings)]
        varied = np.stack([_varied(drawing, self.rng) for drawing in chosen])
        x = torch.from_numpy(pooled(varied, FINE).reshape(len(varied), -1))
        return Batch(x, torch.full((len(x),), self.label))


def teach(
    network: Network,
    memory: Gaussian,
    drawings: Array,
    label: int,
    *,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
) -> tuple[Network, Gaussian]:
    """Return a network and statistics that also know the class ``label``; the given ones stay.

    ``drawings`` (N, FINE·SIDE, FINE·SIDE) are bytes. None of them is kept: what stays is what
    `Gaussian` keeps of their variants.
    """
    taught, kept = copy.deepcopy(network), copy.deepcopy(memory)
    taught.backend = LEARNING
    kept.join_run(seed, BATCH)
    kept.batch = DREAMED
    trainer = Trainer(taught, lr=LR, seed=seed, lr_schedule="cosine")
    trainer.add_classes([label])
    variants = Variants(drawings, label, generator(seed, "variants", label))
    order = generator(seed, "order", label)
    trainer.run_epochs(
        variants,
        range(EPOCHS),
        BATCH,
        lambda _: order.permutation(VARIANTS),
        hooks=kept,
        experience=label,
        callbacks=callbacks,
        steps=EPOCHS * VARIANTS // BATCH,
    )
    kept.after_experience(taught, _experience(variants, label))
    taught.backend = READING
    return taught, kept


def _experience(variants: Variants, label: int) -> Experience:
    """Return variants as the experience that statistics are taken from."""
    batch = variants.take(torch.arange(VARIANTS))
    view = View(batch.x, batch.y, batch.y, torch.arange(VARIANTS), None)
    return Experience(label, (label,), (label,), None, view, view)


def _varied(drawing: Array, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Turn, shear, scale and move a drawing a little."""
    turn, shear = rng.normal(0, 0.09, 2)
    scale = 1 + rng.normal(0, 0.08, 2)
    matrix = np.array([[scale[0], turn], [shear - turn, scale[1]]])
    centre = np.full(2, (FINE * SIDE - 1) / 2)
    offset = centre - matrix @ centre + rng.normal(0, 0.35 * FINE, 2)
    moved = ndimage.affine_transform(drawing.astype(np.float32), matrix, offset, order=1)
    pixels: NDArray[np.uint8] = np.clip(np.rint(moved), 0, 255).astype(np.uint8)
    return pixels
