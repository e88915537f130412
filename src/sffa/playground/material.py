"""What the playground learns from: statistics of each class, and examples to test with."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file

from sffa.continual import Gaussian, Stream
from sffa.core import Backprop, Clock
from sffa.data import Dataset, Split, load
from sffa.data.dataset import Array
from sffa.errors import DataError
from sffa.standardise import moments

PACKAGED = Path(__file__).with_name("digits.safetensors")
SIDE = 14  # of a picture as the networks see it, half that of MNIST
PARTS, RANK = 8, 12  # of the statistics of a class
TRAINED_ON = 12_000
TESTED_ON = 500


@dataclass(frozen=True, eq=False)
class Material:
    """A dataset of pictures (SIDE, SIDE), and what `Gaussian` keeps of its training split.

    ``dreamed``: whether the training split is drawn from the statistics.
    """

    data: Dataset
    memory: Gaussian
    dreamed: bool


def packaged(seed: int = 0, examples: int = TRAINED_ON) -> Material:
    """Return the digits that come with the package: statistics of MNIST, and 500 test images.

    The training examples are drawn from the statistics; ``tools/playground_digits.py`` made the
    file.
    """
    kept = load_file(PACKAGED)
    test = Split(kept.pop("test.x").numpy(), kept.pop("test.y").numpy().astype(np.int64))
    memory = empty_memory()
    memory.restore(kept)
    memory.join_run(seed, memory.batch_size)
    train = dreams(memory, examples)
    names = tuple(str(digit) for digit in range(10))
    scale = float(memory.buffers["shift"]), float(memory.buffers["scale"])
    return Material(Dataset("digits of MNIST", train, test, names, *scale), memory, dreamed=True)


def named(
    name: str, seed: int = 0, folder: Path | None = None, examples: int = TRAINED_ON
) -> Material:
    """Return a dataset of 28 x 28 gray pictures, halved, and the statistics of a part of it."""
    given = halved(load(name, data_dir=folder))
    rng = np.random.default_rng(seed)
    train, test = (
        split.subset(np.sort(rng.permutation(len(split))[:most]))
        for split, most in ((given.train, examples), (given.test, TESTED_ON))
    )
    data = replace(given, train=train, test=test)
    return Material(data, statistics_of(data, seed), dreamed=False)


def halved(data: Dataset) -> Dataset:
    """Return a dataset with every 2 x 2 pixels as one."""
    if data.shape != (2 * SIDE, 2 * SIDE) or data.train.x.dtype != np.uint8:
        raise DataError(
            f"the playground takes gray pictures of {2 * SIDE} x {2 * SIDE} pixels, such as mnist; "
            f"'{data.name}' has the shape {' x '.join(map(str, data.shape))}"
        )
    train, test = (Split(pooled(split.x, 2), split.y) for split in (data.train, data.test))
    return Dataset(data.name, train, test, data.class_names, *moments(train.x))


def pooled(pictures: Array, block: int) -> Array:
    """Return pictures (N, H, W) of bytes with the mean of each block of pixels in its place.

    >>> pooled(np.array([[[0, 0], [100, 100]]], np.uint8), 2)
    array([[[50]]], dtype=uint8)
    """
    n, height, width = pictures.shape
    blocks = pictures.reshape(n, height // block, block, width // block, block)
    means: Array = np.rint(blocks.mean(axis=(2, 4))).astype(np.uint8)
    return means


def empty_memory(seed: int = 0) -> Gaussian:
    """Return the strategy with the playground's options, with nothing kept yet."""
    return Gaussian(PARTS, RANK, dtype="int8", seed=seed)


def statistics_of(data: Dataset, seed: int = 0) -> Gaussian:
    """Return what is kept of each class of a training split."""
    memory = empty_memory(seed)
    standardised = Backprop(data.features, (1,))
    standardised.standardise(data.mean, data.std)
    (everything,) = Stream(data, "class", seed, class_order=[range(data.classes)])
    memory.after_experience(standardised, everything)
    return memory


def dreams(memory: Gaussian, count: int, number: int = 0) -> Split:
    """Draw examples from statistics, equally many of each class; ``number`` draws others."""
    drawing = copy.copy(memory)  # several tabs may draw at once
    drawing.batch = count
    batch = drawing.extra_batch(Clock(number))
    assert batch is not None
    order = torch.argsort(batch.y, stable=True)
    return Split(batch.x[order].reshape(-1, SIDE, SIDE).numpy(), batch.y[order].numpy())
