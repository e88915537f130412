"""What the strategy `gaussian` keeps of each class: the means of its parts, and what it draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sffa.continual import Data, Gaussian, Stream
from sffa.core import Backprop, Clock
from sffa.errors import DataError

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Remembered:
    """Of one class: ``means`` (parts, features), ``drawn`` and real ``examples`` (n, features).

    >>> from sffa.data import load
    >>> (first, *_), _ = memory_of(load("digits"), samples=2, parts=1, rank=2)
    >>> first.label, first.examples.shape
    (0, (2, 64))
    """

    label: int
    means: Floats
    drawn: Floats
    examples: Floats


def memory_of(
    data: Data, *, samples: int = 6, seed: int = 0, **options: Any
) -> tuple[list[Remembered], float]:
    """Return what `Gaussian` with these options keeps of each class of a dataset, and its MB.

    Values are in the units of the dataset, bytes as shares of 255.

    >>> from sffa.data import load
    >>> kept, megabytes = memory_of(load("digits"), samples=3, parts=2, rank=4)
    >>> len(kept), kept[0].means.shape, kept[0].drawn.shape
    (10, (2, 64), (3, 64))
    """
    if samples < 1:
        raise DataError(f"at least one sample of each class is drawn, got {samples}")
    stream = Stream(data, "class", seed, class_order=[[label] for label in range(data.classes)])
    learner = Backprop(data.features, (1,))
    learner.standardise(data.mean, data.std)
    found = []
    megabytes = 0.0
    for experience in stream:
        strategy = Gaussian(**{**options, "batch": samples}, seed=seed)
        strategy.after_experience(learner, experience)
        batch = strategy.extra_batch(Clock(experience.index))
        assert batch is not None
        real = experience.train.take(slice(samples)).x
        unit = 255.0 if real.dtype.itemsize == 1 else 1.0
        examples = (real.float() / unit).numpy()
        label = experience.classes[0]
        found.append(Remembered(label, strategy.means().x.numpy(), batch.x.numpy(), examples))
        megabytes += strategy.megabytes
    return found, megabytes
