"""Views: examples of a stream, cut out of shared arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sffa.core.batch import Batch, Task, join_tasks


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
    task = join_tasks([(view.task, len(view)) for view in views])
    return View(first.images, first.labels, first.classes, index, task)
