"""Examples that come in batches: a DataLoader of torch, a list, any iterable of (x, y)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.core.batch import Array, Batch, tensor_of, whole_numbers
from sffa.errors import DataError

SAMPLE = 10_000
"""Examples that mean and deviation are taken from."""
_CPU = torch.device("cpu")


class Batches:
    """What an epoch goes through when examples come in batches, in the order they come in.

    One that has no length, such as a generator, is gone through once and kept in memory.
    """

    def __init__(self, source: Any) -> None:
        if isinstance(source, Tensor | np.ndarray) or hasattr(source, "iloc"):
            raise DataError("labels are missing: fit(x, y), or fit(batches) of pairs (x, y)")
        try:
            self._source = source if hasattr(source, "__len__") else list(source)
            self._left = iter(self._source)
        except TypeError:
            kind = type(source).__name__
            raise DataError(f"expected examples, or an iterable of batches, got a {kind}") from None
        if not len(self._source):
            raise DataError("there are no batches to learn from")

    def __len__(self) -> int:
        return len(self._source)

    def order(self, epoch: int) -> Array:
        """Begin an epoch; the places are those of the batches."""
        self._left = iter(self._source)
        return np.arange(len(self))

    def take(self, places: Tensor) -> Batch:
        """Return the next batch."""
        try:
            return _pair(next(self._left))
        except StopIteration:
            raise DataError(
                f"there are fewer batches than the {len(self)} announced by len()"
            ) from None

    def survey(self) -> tuple[Tensor, Tensor]:
        """Return the first `SAMPLE` examples, and the labels of all, in one pass."""
        examples: list[Tensor] = []
        labels: list[Tensor] = []
        for x, y, _ in self._pairs():
            labels.append(torch.unique(y))
            if sum(map(len, examples)) < SAMPLE:
                examples.append(x)
        return torch.cat(examples)[:SAMPLE], torch.unique(torch.cat(labels))

    def _pairs(self) -> Iterator[Batch]:
        return (_pair(each) for each in self._source)


def _pair(batch: Any) -> Batch:
    """Return one batch as tensors."""
    if not isinstance(batch, list | tuple) or len(batch) != 2:
        raise DataError(f"a batch is a pair (x, y), got a {type(batch).__name__}")
    return Batch(tensor_of(batch[0], _CPU), whole_numbers(batch[1], _CPU))
