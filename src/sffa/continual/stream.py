"""Streams: a dataset cut into experiences, seen as Class, Domain or Task IL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import torch
from torch import Tensor

from sffa.continual.views import View
from sffa.errors import ConfigurationError, DataError, nearest
from sffa.files import checksum

Scenario = Literal["class", "domain", "task"]
Order = Sequence[Sequence[int]]


class Examples(Protocol):
    """Images ``x`` (N, ...) and labels ``y`` (N,), as arrays or tensors."""

    @property
    def x(self) -> Any: ...  # noqa: D102
    @property
    def y(self) -> Any: ...  # noqa: D102


class Data(Protocol):
    """What a stream needs of a dataset; `sffa.data.Dataset` has it."""

    @property
    def train(self) -> Examples: ...  # noqa: D102
    @property
    def test(self) -> Examples: ...  # noqa: D102
    @property
    def classes(self) -> int: ...  # noqa: D102
    @property
    def mean(self) -> Any: ...  # noqa: D102
    @property
    def std(self) -> Any: ...  # noqa: D102
    @property
    def features(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Experience:
    """One part of a stream: the classes of the dataset in it, and what the learner calls them.

    ``labels`` equals ``classes``, but in Domain IL it counts from zero. ``task`` is None unless
    the learner is told the task.
    """

    index: int
    classes: tuple[int, ...]
    labels: tuple[int, ...]
    task: int | None
    train: View
    test: View


class Stream:
    """Experiences of a dataset, in order. Examples stay where they are; views hold indices.

    Parameters
    ----------
    data
        A dataset with training and test split.
    scenario
        ``"class"``: which of all classes seen; ``"domain"``: which place within its experience;
        ``"task"``: which class of the experience, the experience being known.
    seed
        Of the order of classes: ``torch.randperm``, as in the paper.
    experiences
        How many; the classes are dealt out evenly.
    class_order
        The classes of each experience, instead of ``seed`` and ``experiences``.
    """

    def __init__(
        self,
        data: Data,
        scenario: Scenario,
        seed: int,
        experiences: int = 5,
        class_order: Order | None = None,
    ) -> None:
        self.data = data
        self.scenario: Scenario = scenario
        groups = _deal(data.classes, seed, experiences) if class_order is None else class_order
        self.groups = [tuple(int(label) for label in group) for group in groups]
        _check(self.groups, data.classes, scenario)
        names = np.full(data.classes, -1)
        for group in self.groups:
            for place, label in enumerate(group):
                names[label] = place if scenario == "domain" else label
        splits = [_Split(split, torch.from_numpy(names)) for split in (data.train, data.test)]
        self._experiences = [self._cut(number, *splits) for number in range(len(self.groups))]

    def __len__(self) -> int:
        return len(self._experiences)

    def __getitem__(self, number: int) -> Experience:
        return self._experiences[number]

    def __iter__(self) -> Iterator[Experience]:
        return iter(self._experiences)

    @property
    def classes(self) -> list[int]:
        """All classes of the stream, in the order they come."""
        return [label for group in self.groups for label in group]

    @property
    def chances(self) -> list[float]:
        """Percentage right by guessing once each experience is learned."""
        sizes = np.array([len(group) for group in self.groups])
        options = np.cumsum(sizes) if self.scenario == "class" else sizes
        return [100.0 / int(count) for count in options]

    @property
    def fingerprint(self) -> list[int]:
        """What tells the data from other data: examples, features and a checksum."""
        train, test = self.data.train, self.data.test
        sizes = [len(train.y), len(test.y), self.data.features]
        return [*sizes, checksum(train.x, train.y, test.x, test.y)]

    def _cut(self, number: int, train: _Split, test: _Split) -> Experience:
        group = self.groups[number]
        task = number if self.scenario == "task" else None
        views = [split.view(group, task) for split in (train, test)]
        for view, name in zip(views, ("training", "test"), strict=True):
            if not len(view):
                raise DataError(
                    f"experience {number} (classes {list(group)}) has no {name} examples; "
                    "leave it out or give it classes that have some"
                )
        labels = tuple(range(len(group))) if self.scenario == "domain" else group
        return Experience(number, group, labels, task, *views)


class _Split:
    """A split as tensors: flat images, the dataset's classes, and what the learner calls them."""

    def __init__(self, split: Examples, names: Tensor) -> None:
        self.images = _tensor(split.x).flatten(1)
        self.classes = _tensor(split.y).long()
        top = len(names) - 1
        if len(self.classes) and not 0 <= int(self.classes.min()) <= int(self.classes.max()) <= top:
            raise DataError(f"labels must lie in 0..{top}, the dataset has others")
        self.labels = names[self.classes]

    def view(self, group: tuple[int, ...], task: int | None) -> View:
        index = torch.isin(self.classes, torch.tensor(group)).nonzero().squeeze(1)
        return View(self.images, self.labels, self.classes, index, task)


def _deal(classes: int, seed: int, experiences: int) -> list[list[int]]:
    """Deal a random order of the classes out into experiences."""
    if experiences > classes:
        raise ConfigurationError(
            f"{experiences} experiences need at least as many classes, the dataset has {classes}"
        )
    order = torch.randperm(classes, generator=torch.Generator().manual_seed(seed))
    return [part.tolist() for part in torch.tensor_split(order, experiences)]


def _check(groups: Order, classes: int, scenario: Scenario) -> None:
    """Refuse groups of classes that make no stream."""
    if scenario not in get_args(Scenario):
        known = list(get_args(Scenario))
        raise ConfigurationError(
            f"unknown scenario '{scenario}'{nearest(scenario, known)}; known: {', '.join(known)}"
        )
    owner: dict[int, int] = {}
    for number, group in enumerate(groups):
        if not group:
            raise DataError(f"experience {number} has no classes, and so no examples")
        for label in group:
            if not 0 <= label < classes:
                raise DataError(
                    f"experience {number} asks for class {label}; the dataset has 0..{classes - 1}"
                )
            if label in owner:
                raise DataError(
                    f"class {label} is in experiences {owner[label]} and {number}; "
                    "each class belongs to one experience"
                )
            owner[label] = number
    if not groups:
        raise DataError("a stream needs at least one experience")
    sizes = sorted({len(group) for group in groups})
    if scenario == "domain" and len(sizes) > 1:
        raise ConfigurationError(
            f"Domain IL needs experiences with equally many classes, got {sizes}; "
            "choose experiences so that they divide the classes"
        )


def _tensor(array: Any) -> Tensor:
    """Show an array as a tensor; only a read-only one is copied, as torch cannot promise that."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        array = array.copy()
    return torch.as_tensor(array)
