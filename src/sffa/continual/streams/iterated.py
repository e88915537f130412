"""A stream from an iterator: experiences that come one at a time and are never held together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch

from sffa.continual.stream import AnyStream, Experience, Scenario, tensor
from sffa.continual.views import View, view_of
from sffa.errors import ConfigurationError, DataError
from sffa.files import checksum

Source = Iterable[Any] | Callable[[int], Iterator[Any]]


class IteratorStream(AnyStream):
    """Experiences from a source that nobody could hold in memory.

    Parameters
    ----------
    source
        What yields experiences, each an `Experience` or a tuple ``(x, y)`` or ``(x, y, task)`` of
        examples (N, ...) and labels (N,). A function is called with the number of experiences to
        leave out, and so a stopped run goes on without reading them again; an iterable is gone
        through again from its start; an iterator can be gone through once, and a run of it cannot
        go on after a stop.
    tests
        What is tested after each evaluation: tuples as above. They are held in memory.
    scenario
        ``"class"``, ``"domain"`` or ``"task"``; the labels are taken as they are in each.
    held
        Held-out examples for each of ``tests``, to choose settings by.
    boundaries
        Whether strategies are told where an experience ends.
    length
        How many experiences there are, for progress bars; None if nobody knows.
    evaluate_every
        Experiences from one evaluation to the next.
    name
        What records call the dataset.

    Examples
    --------
    >>> import numpy as np
    >>> from sffa.continual import ContinualConfig, run
    >>> def batches(start):
    ...     for number in range(start, 3):
    ...         yield np.eye(4, dtype="float32"), np.array([0, 0, 1, 1])
    >>> stream = IteratorStream(batches, tests=[next(batches(0))])
    >>> config = ContinualConfig(algorithm="bp", hidden=(8,), epochs=1, batch_size=4)
    >>> run(config, stream=stream).done
    3
    """

    needs_data: ClassVar[bool] = False

    def __init__(
        self,
        source: Source,
        tests: Sequence[Any],
        scenario: Scenario = "class",
        *,
        held: Sequence[Any] | None = None,
        boundaries: bool = True,
        length: int | None = None,
        evaluate_every: int = 1,
        name: str = "iterator",
    ) -> None:
        if not len(tests):
            raise ConfigurationError("a stream from an iterator needs tests: what is evaluated")
        if held is not None and len(held) != len(tests):
            raise ConfigurationError(
                f"{len(held)} held-out parts do not go with {len(tests)} tests"
            )
        if evaluate_every < 1:
            raise ConfigurationError(f"evaluate_every must be 1 or more, got {evaluate_every}")
        self.source: Source = source
        self.once = not callable(source) and iter(source) is source
        self.scenario: Scenario = scenario
        self.boundaries = boundaries
        self._length = length
        self.evaluate_every = evaluate_every
        self.name = name
        parts = itertools.zip_longest(tests, held or ())
        self.tests = [_test(number, *pair) for number, pair in enumerate(parts)]
        first = next(self.starting(0), None)
        if first is None:
            raise DataError("a stream needs at least one experience")
        self._first = checksum(first.train.x.numpy(), first.train.y.numpy())
        self._features = int(first.train.x.shape[1])
        self._kept = first if self.once else None
        if self.once:
            rest: Any = source
            self.source = itertools.chain([first], rest)

    @property
    def first(self) -> Experience:  # noqa: D102
        return next(self.starting(0)) if self._kept is None else self._kept

    @property
    def length(self) -> int | None:  # noqa: D102
        return self._length

    @property
    def features(self) -> int:  # noqa: D102
        return self._features

    def starting(self, start: int) -> Iterator[Experience]:  # noqa: D102
        if callable(self.source):
            found = self.source(start)
        elif self.once and start:
            raise ConfigurationError(
                "an iterator can be gone through once, and so a run of it cannot go on: give a "
                "function of the number of experiences to leave out that returns an iterator"
            )
        else:
            found = itertools.islice(self.source, start, None)
        for number, item in enumerate(found, start):
            yield _experience(number, item)

    @property
    def fingerprint(self) -> list[int]:
        """Features, and checksums of the first experience and of the tests."""
        tests = [part for test in self.tests for part in (test.test.x, test.test.y)]
        return [self.features, self._first, checksum(*(part.numpy() for part in tests))]


class ListStream(IteratorStream):
    """Experiences in a list, each of them also what is tested."""

    def __init__(self, experiences: Sequence[Experience], scenario: Scenario = "class") -> None:
        for number, item in enumerate(experiences):
            if not isinstance(item, Experience) or not len(item.test):
                raise DataError(
                    f"experience {number} has no test examples: give each as Experience.of(x, y, "
                    "x_test, y_test), or IteratorStream(experiences, tests)"
                )
        super().__init__(experiences, experiences, scenario, length=len(experiences))
        self._experiences = [replace(e, index=n) for n, e in enumerate(experiences)]

    @property
    def learned(self) -> list[int]:  # noqa: D102
        return list(range(1, len(self._experiences) + 1))

    def past(self, number: int) -> Sequence[Experience]:  # noqa: D102
        return self._experiences[:number]


def _experience(number: int, item: Any) -> Experience:
    """Return what a source yielded as an experience."""
    if isinstance(item, Experience):
        return replace(item, index=number)
    view = _view(number, item)
    labels = tuple(torch.unique(view.y).tolist())
    task = view.task if isinstance(view.task, int) else None
    return Experience(number, labels, labels, task, view, replace(view, index=view.index[:0]))


def _test(number: int, item: Any, held: Any) -> Experience:
    found = _experience(number, item)
    if not isinstance(item, Experience):
        found = replace(found, test=found.train)
    return found if held is None else replace(found, held=_view(number, held))


def _view(number: int, item: Any) -> View:
    if not isinstance(item, Sequence) or not 2 <= len(item) <= 3:
        raise DataError(
            f"experience {number} is a {type(item).__name__}; expected an Experience, or a tuple "
            "(x, y) or (x, y, task)"
        )
    x, y = tensor(item[0]), tensor(item[1])
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not len(y):
        raise DataError(
            f"experience {number} has examples of shape {tuple(x.shape)} and labels of shape "
            f"{tuple(y.shape)}; expected (N, ...) and (N,)"
        )
    return view_of(x, y, item[2] if len(item) == 3 else None)


class Adapted(AnyStream):
    """An object that has what `Stream` had before there were others: data, chances and the like."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.data, self.scenario = given.data, given.scenario
        self.name = getattr(given.data, "name", self.name)
        self.tests = list(given)

    def starting(self, start: int) -> Iterator[Experience]:  # noqa: D102
        return iter(self.tests[start:])

    def past(self, number: int) -> Sequence[Experience]:  # noqa: D102
        return self.tests[:number]

    @property
    def length(self) -> int:  # noqa: D102
        return len(self.tests)

    @property
    def features(self) -> int:  # noqa: D102
        return int(self.data.features)

    @property
    def scale(self) -> tuple[Any, Any]:  # noqa: D102
        return self.data.mean, self.data.std

    @property
    def learned(self) -> list[int]:  # noqa: D102
        return list(range(1, len(self.tests) + 1))

    @property
    def chances(self) -> list[float]:  # noqa: D102
        return list(self.given.chances)

    @property
    def classes(self) -> list[int]:  # noqa: D102
        return list(self.given.classes)

    @property
    def fingerprint(self) -> list[int]:  # noqa: D102
        return list(self.given.fingerprint)


def as_stream(given: Any, scenario: Scenario) -> AnyStream:
    """Return whatever yields experiences as a stream; ``scenario`` is for what does not say it."""
    if isinstance(given, AnyStream):
        return given
    if hasattr(given, "scenario") and hasattr(given, "chances"):
        return Adapted(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return ListStream(given, scenario)
    if not isinstance(given, Iterable):
        raise DataError(f"expected a stream, got a {type(given).__name__}")
    raise DataError(
        "an iterator does not say what to test: give stream=IteratorStream(iterator, tests)"
    )
