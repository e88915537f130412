"""Partition: any examples in any experience."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.continual.stream import Experience, Order, Stream
from sffa.data.npy import read_npz
from sffa.errors import ConfigurationError, DataError
from sffa.files import checksum


class Partition(Stream):
    """The experience of every example, given by number; -1 leaves an example out.

    In Domain IL labels are the dataset's classes.

    Parameters
    ----------
    train
        The experience of each training example (N,), from 0.
    test
        The experience of each test example (M,). Unless given, an experience is tested on all test
        examples of the classes that it trains.
    file
        An .npz file with ``train`` and, if wanted, ``test``, in their place.

    Examples
    --------
    >>> import numpy as np
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> odd = Partition(data, "class", 0, train=np.arange(len(data.train)) % 2)
    >>> [len(experience.train) for experience in odd]
    [719, 718]
    """

    def __init__(
        self,
        data: Any,
        scenario: Any,
        seed: int,
        experiences: int = 1,
        class_order: Order | None = None,
        *,
        train: Any = None,
        test: Any = None,
        file: str | None = None,
        **common: Any,
    ) -> None:
        if class_order is not None:
            raise ConfigurationError("a partition says itself what is where: leave out class_order")
        if (train is None) == (file is None):
            raise ConfigurationError(
                "a partition needs the experience of each training example: partition.file=FILE, "
                "an .npz with train, or train=… in Python"
            )
        if file is not None:
            arrays = read_npz(file, ("train", "test").__contains__)
            if "train" not in arrays:
                raise DataError(f"{file} has no array 'train', the experience of each example")
            train, test = arrays["train"], arrays.get("test")
        self.parts = [_numbers("train", train, len(data.train.y))]
        if test is not None:
            self.parts.append(_numbers("test", test, len(data.test.y)))
        super().__init__(data, scenario, seed, 1, [range(data.classes)], **common)

    def names(self) -> Tensor:
        """Return the classes as they are, in every scenario."""
        return torch.arange(self.data.classes)

    def arrange(self) -> Sequence[Experience]:
        """Return the experiences as numbered; each is also what is tested."""
        train = self.parts[0]
        count = int(train.max()) + 1
        self.tests = [self._part(number, train) for number in range(count)]
        return self.tests

    def _part(self, number: int, train: np.ndarray[Any, Any]) -> Experience:
        kept = self.train_split.places
        index = kept[torch.from_numpy(train[kept.numpy()] == number)]
        if not len(index):
            raise DataError(f"experience {number} of the partition has no training examples")
        if len(self.parts) > 1:
            test = torch.from_numpy(np.flatnonzero(self.parts[1] == number))
        else:
            test = self.test_split.of(torch.unique(self.train_split.classes[index]).tolist())
        if not len(test):
            raise DataError(f"experience {number} of the partition has no test examples")
        task = number if self.scenario == "task" else None
        found = self.experience(number, index, test, task)
        if self.held_split is None:
            return found
        held = self.held_split.places
        chosen = held[torch.from_numpy(train[held.numpy()] == number)]
        return Experience(**{**vars(found), "held": self.held_split.view(chosen, task)})

    @property
    def learned(self) -> list[int]:
        """Each part after it was trained on."""
        return list(range(1, len(self) + 1))

    @property
    def fingerprint(self) -> list[int]:
        """As of any stream, and a checksum of the partition."""
        return [*super().fingerprint, checksum(*self.parts)]


def _numbers(name: str, given: Any, count: int) -> np.ndarray[Any, Any]:
    """Return the experience of each example as whole numbers."""
    found = np.asarray(given)
    if found.shape != (count,) or found.dtype.kind not in "iu":
        raise DataError(
            f"'{name}' of a partition has one whole number for each of {count} examples, got "
            f"the shape {found.shape} of {found.dtype}"
        )
    if not found.size or not found.min() >= -1 or found.max() < 0 or found.max() >= count:
        raise DataError(f"'{name}' of a partition numbers experiences from 0, and -1 is none")
    return found.astype(np.int64)
