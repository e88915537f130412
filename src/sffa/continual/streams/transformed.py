"""Permuted and Rotated: the same classes in every experience, the inputs changed as they are read.

Nothing is copied: an experience is a view of the shared examples with a transformation.
"""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from sffa.continual.stream import Experience, Order, Stream
from sffa.continual.views import Transform
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError


class Transformed(Stream):
    """All classes in each experience; the first shows the examples as they are.

    Domain IL, as most papers have it: the labels are the same throughout. In Class and Task IL
    every experience has labels of its own.
    """

    def __init__(
        self,
        data: Any,
        scenario: Any,
        seed: int,
        experiences: int = 5,
        class_order: Order | None = None,
        **common: Any,
    ) -> None:
        if class_order is not None:
            raise ConfigurationError("every experience has all classes here: leave out class_order")
        self.count = experiences
        super().__init__(data, scenario, seed, experiences, [range(data.classes)], **common)
        self.tests = self._experiences

    @abstractmethod
    def transform(self, number: int) -> Transform:
        """Return what an experience does to examples (N, features)."""

    def arrange(self) -> Sequence[Experience]:
        """Return one view of the whole dataset for each experience."""
        return [self._changed(number) for number in range(self.count)]

    @property
    def classes(self) -> list[int]:
        """All labels of the stream, in the order they come."""
        found = (label for experience in self for label in experience.labels)
        return list(dict.fromkeys(found)) if hasattr(self, "_experiences") else [*self.groups[0]]

    @property
    def learned(self) -> list[int]:
        """Each experience after it was trained on, though the labels may be old."""
        return list(range(1, len(self) + 1))

    def _changed(self, number: int) -> Experience:
        first = self.tests[0]
        offset = 0 if self.scenario == "domain" else number * self.data.classes
        changes: dict[str, Any] = {"offset": offset}
        changes["task"] = number if self.scenario == "task" else None
        if number:
            changes["transform"] = self.transform(number)
        return Experience(
            number,
            first.classes,
            tuple(label + offset for label in first.labels),
            changes["task"],
            replace(first.train, **changes),
            replace(first.test, **changes),
            None if first.held is None else replace(first.held, **changes),
        )


class Permuted(Transformed):
    """The features in another random order in each experience (Permuted-MNIST).

    >>> from sffa.data import load
    >>> stream = Permuted(load("digits"), "domain", 0, experiences=3)
    >>> [experience.labels[:3] for experience in stream]
    [(0, 1, 2), (0, 1, 2), (0, 1, 2)]
    """

    def transform(self, number: int) -> Transform:
        """Return the permutation of an experience."""
        order = generator(self.seed, "permuted", number).permutation(self.data.features)
        places = torch.from_numpy(order)
        return lambda examples: examples[:, places]


class Rotated(Transformed):
    """The images turned further in each experience (Rotated-MNIST).

    Parameters
    ----------
    degrees
        The angle that the experiences divide equally, counter-clockwise.

    Examples
    --------
    >>> from sffa.data import load
    >>> stream = Rotated(load("digits"), "domain", 0, experiences=3, degrees=90)
    >>> tuple(next(iter(stream)).train.take(slice(5)).x.shape)
    (5, 64)
    """

    def __init__(self, data: Any, *given: Any, degrees: float = 180.0, **common: Any) -> None:
        shape = tuple(data.train.x.shape[1:])
        if len(shape) not in (2, 3):
            raise ConfigurationError(
                f"only images can be turned: examples have the shape {shape}, expected (H, W) or "
                "(H, W, channels)"
            )
        self.degrees, self.shape = degrees, shape
        super().__init__(data, *given, **common)

    def transform(self, number: int) -> Transform:
        """Return the rotation of an experience, by bilinear interpolation."""
        angle = math.radians(self.degrees * number / self.count)
        return functools.partial(_turned, shape=self.shape, angle=angle)


def _turned(examples: Tensor, shape: tuple[int, ...], angle: float) -> Tensor:
    """Return flat images (N, features) turned by an angle; bytes stay bytes."""
    height, width = shape[:2]
    images = examples.reshape(len(examples), height, width, -1).permute(0, 3, 1, 2).float()
    cos, sin = math.cos(angle), math.sin(angle)
    # From a place in the turned image to the one it is read from, in units of half a side.
    matrix = torch.tensor([[cos, -sin * height / width, 0], [sin * width / height, cos, 0]])
    size = list(images.shape)
    grid = F.affine_grid(matrix.expand(len(images), 2, 3), size, align_corners=False)
    turned = F.grid_sample(images, grid, align_corners=False)
    turned = turned.permute(0, 2, 3, 1).reshape(len(examples), -1)
    if examples.dtype == torch.uint8:
        return turned.round().clamp(0, 255).to(torch.uint8)
    return turned.to(examples.dtype)
