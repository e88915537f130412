"""Views: examples of a stream, cut out of shared arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.core.batch import Batch, Task, join, join_tasks

Transform = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class View:
    """The examples at ``index`` of arrays shared by the whole stream.

    ``labels`` are the learner's names of the dataset's ``classes``, less ``offset``; ``task`` is
    for all examples, or one for each place of ``index``. ``transform`` changes examples
    (N, features) as they are copied out, so that nothing is held twice.

    >>> from sffa.continual import Stream
    >>> from sffa.data import load
    >>> view = next(iter(Stream(load("digits"), "class", seed=0))).train
    >>> batch = view.take(slice(8))
    >>> tuple(batch.x.shape), sorted({*batch.y.tolist()}) == [1, 4]
    ((8, 64), True)
    """

    images: Tensor
    labels: Tensor
    classes: Tensor
    index: Tensor
    task: Task
    transform: Transform | None = None
    offset: int = 0

    def __len__(self) -> int:
        return len(self.index)

    @property
    def x(self) -> Tensor:
        """The examples, copied out."""
        return self._examples(self.index)

    @property
    def y(self) -> Tensor:
        """The learner's labels."""
        return self._labels(self.index)

    @property
    def original(self) -> Tensor:
        """The dataset's classes."""
        return self.classes[self.index]

    def take(self, places: Tensor | slice) -> Batch:
        """Copy out the examples at some places of this view."""
        rows = self.index[places]
        task = self.task[places] if isinstance(self.task, Tensor) else self.task
        return Batch(self._examples(rows), self._labels(rows), task)

    def _examples(self, rows: Tensor) -> Tensor:
        examples = self.images[rows]
        return examples if self.transform is None else self.transform(examples)

    def _labels(self, rows: Tensor) -> Tensor:
        labels = self.labels[rows]
        return labels + self.offset if self.offset else labels

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield all examples in their own order."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))


class Joined(View):
    """Several views of arrays that differ, or are transformed differently, as one."""

    def __init__(self, views: Sequence[View]) -> None:
        first = views[0]
        index = torch.arange(sum(map(len, views)))
        task = join_tasks([(view.task, len(view)) for view in views])
        super().__init__(first.images, first.labels, first.classes, index, task)
        object.__setattr__(self, "views", list(views))
        object.__setattr__(self, "ends", np.cumsum([len(view) for view in views]))

    views: list[View]
    ends: np.ndarray[Any, Any]

    @property
    def x(self) -> Tensor:
        """The examples, copied out."""
        return self.take(slice(None)).x

    @property
    def y(self) -> Tensor:
        """The learner's labels."""
        return torch.cat([view.y for view in self.views])

    @property
    def original(self) -> Tensor:
        """The dataset's classes."""
        return torch.cat([view.original for view in self.views])

    def take(self, places: Tensor | slice) -> Batch:
        """Copy out the examples at some places, each from the view that holds it."""
        rows = self.index[places]
        owner = torch.from_numpy(np.searchsorted(self.ends, rows.numpy(), side="right"))
        order = torch.argsort(owner, stable=True)
        parts = []
        for number in torch.unique(owner).tolist():
            view = self.views[number]
            parts.append(view.take(rows[owner == number] - (int(self.ends[number]) - len(view))))
        found, back = join(parts), torch.argsort(order)
        task = found.task[back] if isinstance(found.task, Tensor) else found.task
        return Batch(found.x[back], found.y[back], task)


def merge(views: Sequence[View]) -> View:
    """Show several views as one; those of the same arrays need no more than their places."""
    first = views[0]
    if any(
        view.images is not first.images or view.transform is not None or view.offset
        for view in views
    ):
        return Joined(views)
    index = torch.cat([view.index for view in views])
    task = join_tasks([(view.task, len(view)) for view in views])
    return View(first.images, first.labels, first.classes, index, task)


def view_of(x: Tensor, y: Tensor, task: Task = None) -> View:
    """Show examples (N, ...) and labels (N,) as a view of all of them."""
    labels = y.long()
    return View(x.flatten(1), labels, labels, torch.arange(len(labels)), task)
