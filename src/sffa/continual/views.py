"""Batches, and views that cut them out of shared arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from sffa.core.learner import Task
from sffa.errors import DataError


class Batch(NamedTuple):
    """Examples (batch, features) with their labels (batch,) and task: none, one, or one each."""

    x: Tensor
    y: Tensor
    task: Task


def join(batches: Sequence[Batch]) -> Batch:
    """Put batches together; tasks stay one number while all agree.

    >>> one = Batch(torch.zeros(2, 3), torch.zeros(2), 0)
    >>> join([one, one._replace(task=1)]).task
    tensor([0, 0, 1, 1])
    """
    if len(batches) == 1:
        return batches[0]
    x = torch.cat([batch.x for batch in batches])
    y = torch.cat([batch.y for batch in batches])
    return Batch(x, y, _join_tasks([(batch.task, len(batch.y)) for batch in batches]))


@dataclass(frozen=True, eq=False)
class View:
    """The examples at ``index`` of arrays shared by the whole stream.

    ``labels`` are the learner's names of the dataset's ``classes``; ``task`` is for all examples,
    or one for each place of ``index``.
    """

    images: Tensor
    labels: Tensor
    classes: Tensor
    index: Tensor
    task: Task

    def __len__(self) -> int:
        return len(self.index)

    @property
    def x(self) -> Tensor:
        """The examples, copied out."""
        return self.images[self.index]

    @property
    def y(self) -> Tensor:
        """The learner's labels."""
        return self.labels[self.index]

    @property
    def original(self) -> Tensor:
        """The dataset's classes."""
        return self.classes[self.index]

    def take(self, places: Tensor | slice) -> Batch:
        """Copy out the examples at some places of this view."""
        rows = self.index[places]
        task = self.task[places] if isinstance(self.task, Tensor) else self.task
        return Batch(self.images[rows], self.labels[rows], task)

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield all examples in their own order."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))


def merge(views: Sequence[View]) -> View:
    """Show several views of the same arrays as one."""
    first = views[0]
    index = torch.cat([view.index for view in views])
    task = _join_tasks([(view.task, len(view)) for view in views])
    return View(first.images, first.labels, first.classes, index, task)


def _join_tasks(tasks: Sequence[tuple[Task, int]]) -> Task:
    first = tasks[0][0]
    if all(not isinstance(task, Tensor) and task == first for task, _ in tasks):
        return first
    if any(task is None for task, _ in tasks):
        raise DataError("examples with a task and examples without one cannot be in one batch")
    return torch.cat(
        [
            torch.full((size,), task) if isinstance(task, int) else torch.as_tensor(task)
            for task, size in tasks
        ]
    )
