"""Streams: a dataset cut into experiences, seen as Class, Domain or Task IL."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, get_args

import numpy as np
import torch
from torch import Tensor

from sffa.continual.views import View, view_of
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, DataError, nearest
from sffa.files import checksum
from sffa.splits import hold_out

Scenario = Literal["class", "domain", "task"]
Order = Sequence[Sequence[int]]


class Examples(Protocol):
    """Images ``x`` (N, ...) and labels ``y`` (N,), as arrays or tensors."""

    @property
    def x(self) -> Any: ...  # noqa: D102
    @property
    def y(self) -> Any: ...  # noqa: D102


class Data(Protocol):
    """What a stream needs of a dataset; `sffa.data.Dataset` has it.

    >>> from sffa.data import load
    >>> digits: Data = load("digits")
    >>> digits.classes, digits.features, digits.train.x.shape[1:]
    (10, 64, (8, 8))
    """

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
    the learner is told the task. ``held`` are training examples set aside to choose settings by.

    >>> import numpy as np
    >>> x, y = np.eye(4, dtype="float32"), np.array([0, 0, 1, 1])
    >>> one = Experience.of(x, y, x, y)
    >>> one.classes, len(one.train), tuple(one.test.take(slice(2)).x.shape)
    ((0, 1), 4, (2, 4))
    """

    index: int
    classes: tuple[int, ...]
    labels: tuple[int, ...]
    task: int | None
    train: View
    test: View
    held: View | None = None

    @classmethod
    def of(cls, x: Any, y: Any, x_test: Any, y_test: Any, task: int | None = None) -> Self:
        """Return the experience of examples (N, ...) and labels (N,); a stream numbers it."""
        train, test = (view_of(tensor(a), tensor(b), task) for a, b in ((x, y), (x_test, y_test)))
        labels = tuple(torch.unique(train.y).tolist())
        return cls(0, labels, labels, task, train, test)


class AnyStream:
    """What a run needs of a stream; the base of those that are cut out of data and of all others.

    ``tests`` are what accuracies are taken on, each an experience with its ``test`` examples and,
    if some are held out, ``held``. ``learned`` tells after how many experiences each of them
    counts as learned; None: once its labels are met. ``scale`` are mean and deviation of the
    inputs, None where nobody knows them beforehand, ``length`` the experiences, None if endless.

    >>> import numpy as np
    >>> class Twice(AnyStream):
    ...     scenario = "class"
    ...
    ...     def __init__(self, experience):
    ...         self.tests = [experience]
    ...
    ...     def starting(self, start):
    ...         for _ in range(start, 2):
    ...             yield self.tests[0]
    >>> x, y = np.eye(4, dtype="float32"), np.array([0, 0, 1, 1])
    >>> stream = Twice(Experience.of(x, y, x, y))
    >>> stream.features, [one.classes for one in stream]
    (4, [(0, 1), (0, 1)])
    """

    boundaries: bool = True  # whether strategies are told where an experience ends
    shuffled: ClassVar[bool] = True  # whether the run draws the order within an experience
    needs_data: ClassVar[bool] = True  # whether it is cut out of a dataset
    evaluate_every: int = 1  # experiences from one evaluation to the next, unless a run says it
    scenario: Scenario
    tests: Sequence[Experience]
    name: str = "stream"

    def starting(self, start: int) -> Iterator[Experience]:
        """Yield the experiences from number ``start`` on."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Experience]:
        return self.starting(0)

    @property
    def first(self) -> Experience:
        """The first experience, which is then still to come."""
        return next(self.starting(0))

    @property
    def length(self) -> int | None:
        """How many experiences there are; None if nobody knows."""
        return None

    @property
    def features(self) -> int:
        """Numbers of an example."""
        return int(self.first.train.x[:1].numel())

    @property
    def scale(self) -> tuple[Any, Any] | None:
        """Mean and deviation of all inputs, if they are known."""
        return None

    @property
    def learned(self) -> list[int] | None:
        """After how many experiences each of ``tests`` counts as learned."""
        return None

    @property
    def chances(self) -> list[float]:
        """Percentage right by guessing once each of ``tests`` is learned."""
        return [100.0 / len(test.labels) for test in self.tests]

    @property
    def classes(self) -> list[int]:
        """All classes that are known to come."""
        return list(dict.fromkeys(label for test in self.tests for label in test.labels))

    @property
    def fingerprint(self) -> list[int]:
        """Whole numbers that tell this stream from others."""
        raise NotImplementedError

    def past(self, number: int) -> Sequence[Experience]:
        """Return the experiences before one, for strategies that train on them again."""
        raise ConfigurationError(
            "joint training goes back to all earlier experiences, and this stream cannot: use "
            "another method"
        )


class Stream(AnyStream):
    """Experiences of a dataset, in order. Examples stay where they are; views hold indices.

    Other streams inherit from it and arrange the groups of classes otherwise (`arrange`), from
    ``train_split``, ``test_split`` and, if examples are held out, ``held_split``. All
    groups are tested after each experience, whatever is trained on: ``tests`` are what accuracies
    are taken on, one for each group.

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
    holdout
        The share of every class's training examples that is set aside and never trained on.
    batch_size
        New examples in a step, for streams that are cut by it.

    Examples
    --------
    >>> from sffa.data import load
    >>> stream = Stream(load("digits"), "class", seed=0)
    >>> [experience.classes for experience in stream]
    [(4, 1), (7, 5), (3, 9), (0, 8), (6, 2)]
    """

    scenarios: ClassVar[tuple[str, ...]] = get_args(Scenario)

    def __init__(
        self,
        data: Data,
        scenario: Scenario,
        seed: int,
        experiences: int = 5,
        class_order: Order | None = None,
        *,
        holdout: float = 0.0,
        batch_size: int = 512,
    ) -> None:
        self.data = data
        self.name = getattr(data, "name", self.name)
        self.scenario: Scenario = scenario
        self.seed = seed
        self.holdout = holdout
        self.batch_size = batch_size
        _check_scenario(scenario, type(self))
        groups = self.deal(experiences) if class_order is None else class_order
        self.groups = [tuple(int(label) for label in group) for group in groups]
        self.check_groups()
        names = self.names()
        kept, held = hold_out(data.train.y, float(holdout), generator(seed, "holdout"))
        self.train_split = Cutter(data.train, names, kept)
        self.held_split = self.train_split.at(held) if holdout else None
        self.test_split = Cutter(data.test, names)
        self.tests = [self.group(n) for n in range(len(self.groups))]
        self._experiences: Sequence[Experience] = self.arrange()

    def __len__(self) -> int:
        return len(self._experiences)

    def __getitem__(self, number: int) -> Experience:
        return self._experiences[number]

    def __iter__(self) -> Iterator[Experience]:
        return iter(self._experiences)

    def starting(self, start: int) -> Iterator[Experience]:  # noqa: D102
        return (self[number] for number in range(start, len(self)))

    def past(self, number: int) -> Sequence[Experience]:  # noqa: D102
        return self._experiences[:number]

    @property
    def length(self) -> int:  # noqa: D102
        return len(self)

    @property
    def features(self) -> int:  # noqa: D102
        return self.data.features

    @property
    def scale(self) -> tuple[Any, Any]:  # noqa: D102
        return self.data.mean, self.data.std

    def deal(self, experiences: int) -> Order:
        """Deal a random order of the classes out into experiences."""
        classes = self.data.classes
        if experiences > classes:
            raise ConfigurationError(
                f"{experiences} experiences need at least as many classes, the dataset has "
                f"{classes}"
            )
        order = torch.randperm(classes, generator=torch.Generator().manual_seed(self.seed))
        return [part.tolist() for part in torch.tensor_split(order, experiences)]

    def check_groups(self) -> None:
        """Refuse groups of classes that make no stream."""
        _check(self.groups, self.data.classes, self.scenario)

    def names(self) -> Tensor:
        """Return what the learner calls each class of the dataset."""
        names = torch.full((self.data.classes,), -1)
        for group in self.groups:
            for place, label in enumerate(group):
                names[label] = place if self.scenario == "domain" else label
        return names

    def arrange(self) -> Sequence[Experience]:
        """Return the experiences, in order; here the groups, one after the other."""
        return self.tests

    @property
    def classes(self) -> list[int]:
        """All classes of the stream, in the order they come."""
        return [label for group in self.groups for label in group]

    @property
    def learned(self) -> list[int]:
        """After how many experiences each of ``tests`` counts as learned: all its classes met."""
        found = []
        for test in self.tests:
            lacking = {*test.classes}
            for experience in self:
                lacking -= {*experience.classes}
                if not lacking:
                    break
            found.append(experience.index + 1)
        return found

    @property
    def chances(self) -> list[float]:
        """Percentage right by guessing once each of ``tests`` is learned."""
        counts = [len(test.labels) for test in self.tests]
        if self.scenario == "class":
            met: set[int] = set()
            known = [len(met := met | {*experience.labels}) for experience in self]
            counts = [known[number - 1] for number in self.learned]
        return [100.0 / count for count in counts]

    @property
    def fingerprint(self) -> list[int]:
        """What tells the data from other data: examples, features and a checksum."""
        train, test = self.data.train, self.data.test
        sizes = [len(train.y), len(test.y), self.data.features]
        return [*sizes, checksum(train.x, train.y, test.x, test.y)]

    def group(self, number: int) -> Experience:
        """Return all examples of a group of classes as an experience."""
        group = self.groups[number]
        task = number if self.scenario == "task" else None
        train, test = (split.of(group) for split in (self.train_split, self.test_split))
        for index, name in ((train, "training"), (test, "test")):
            if not len(index):
                raise DataError(
                    f"experience {number} (classes {list(group)}) has no {name} examples; "
                    "leave it out or give it classes that have some"
                )
        return self.experience(number, train, test, task, group)

    def experience(
        self,
        number: int,
        train: Tensor,
        test: Tensor,
        task: int | None = None,
        classes: Sequence[int] | None = None,
    ) -> Experience:
        """Return the experience of some training and test examples, given by their places.

        ``classes`` are those of its training examples, in the order of the stream, unless given.
        """
        if classes is None:
            present = set(torch.unique(self.train_split.classes[train]).tolist())
            classes = [label for label in self.classes if label in present]
        named = self.train_split.names[torch.tensor(classes)].tolist()
        labels = dict.fromkeys(named)
        if self.scenario == "domain":
            labels = dict.fromkeys(sorted(named))
        return Experience(
            number,
            tuple(classes),
            tuple(labels),
            task,
            self.train_split.view(train, task),
            self.test_split.view(test, task),
            None
            if self.held_split is None
            else self.held_split.view(self.held_split.of(classes), task),
        )


class Cutter:
    """A split as tensors, from which views are cut.

    ``images`` are flat, ``classes`` the dataset's, ``labels`` what the learner calls them. Only
    examples at ``places`` are ever in a view.
    """

    def __init__(
        self, split: Examples, names: Tensor, places: np.ndarray[Any, Any] | None = None
    ) -> None:
        self.images = tensor(split.x).flatten(1)
        self.classes = tensor(split.y).long()
        self.names = names
        top = len(names) - 1
        if len(self.classes) and not 0 <= int(self.classes.min()) <= int(self.classes.max()) <= top:
            raise DataError(f"labels must lie in 0..{top}, the dataset has others")
        self.labels = names[self.classes]
        self.places = torch.arange(len(self.classes)) if places is None else torch.as_tensor(places)

    def at(self, places: np.ndarray[Any, Any]) -> Cutter:
        """Return the same split with other places."""
        found = copy.copy(self)
        found.places = torch.as_tensor(places)
        return found

    def of(self, classes: Sequence[int]) -> Tensor:
        """Return the places of the examples of some classes."""
        chosen = torch.isin(self.classes[self.places], torch.tensor(classes))
        return self.places[chosen]

    def view(self, index: Tensor, task: int | None) -> View:
        """Return the view of examples at some places."""
        return View(self.images, self.labels, self.classes, index, task)


def _check_scenario(scenario: str, kind: type[Stream]) -> None:
    known = list(get_args(Scenario))
    if scenario not in known:
        raise ConfigurationError(
            f"unknown scenario '{scenario}'{nearest(scenario, known)}; known: {', '.join(known)}"
        )
    if scenario not in kind.scenarios:
        raise ConfigurationError(
            f"a {kind.__name__} stream mixes tasks in one batch and cannot be Task IL: use "
            f"scenario {' or '.join(kind.scenarios)}"
        )


def _check(groups: Order, classes: int, scenario: Scenario) -> None:
    """Refuse groups of classes that make no stream."""
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


def tensor(array: Any) -> Tensor:
    """Show an array as a tensor; only a read-only one is copied, as torch cannot promise that."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        array = array.copy()
    return torch.as_tensor(array)
