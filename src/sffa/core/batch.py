"""Batches: examples with their labels and tasks, as tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sffa.errors import DataError

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
Task = int | Tensor | Array | None


class Batch(NamedTuple):
    """Examples (batch, features) with their labels (batch,) and task: none, one, or one each.

    >>> import torch
    >>> batch = Batch(torch.zeros(8, 64), torch.arange(8))
    >>> batch.x.shape[0], batch.task
    (8, None)
    """

    x: Tensor
    y: Tensor
    task: Task = None


@dataclass(frozen=True)
class Clock:
    """Where training stands; random draws made from it need no state of their own.

    >>> Clock(experience=2, epoch=0, batch=7)
    Clock(experience=2, epoch=0, batch=7)
    """

    experience: int = 0
    epoch: int = 0
    batch: int = 0


def join(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches; tasks stay one number while all agree.

    Pixels as bytes that meet other numbers become shares of 255, as learners have them.

    >>> one = Batch(torch.zeros(2, 3), torch.zeros(2), 0)
    >>> join([one, one._replace(task=1)]).task
    tensor([0, 0, 1, 1])
    """
    if len(batches) == 1:
        return batches[0]
    examples = [batch.x for batch in batches]
    if len({each.dtype for each in examples}) > 1:
        examples = [x.float() / 255 if x.dtype == torch.uint8 else x for x in examples]
    x = torch.cat(examples)
    y = torch.cat([batch.y for batch in batches])
    return Batch(x, y, join_tasks([(batch.task, len(batch.y)) for batch in batches]))


def join_tasks(tasks: Sequence[tuple[Task, int]]) -> Task:
    """Concatenate tasks, each with the number of examples it stands for."""
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


def part_of(task: Task, start: int, size: int) -> Task:
    """Slice the tasks of examples as their batch is sliced; one task for all stays as it is."""
    if isinstance(task, Tensor | np.ndarray) and task.ndim and len(task) > 1:
        return task[start : start + size]
    return task


def tensor_of(values: Tensor | Array | int | None, device: torch.device) -> Tensor:
    """Return values as a tensor of numbers; arrays that torch cannot share are copied.

    A data frame of numbers is an array of numbers; one with text or dates in it is refused.
    """
    given: Any = values
    if hasattr(given, "to_numpy"):
        values = given.to_numpy()
    if isinstance(values, np.ndarray) and (
        not values.flags.writeable or any(stride < 0 for stride in values.strides)
    ):
        values = values.copy()
    try:
        tensor = torch.as_tensor(values, device=device)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        tensor = None
    if tensor is None or tensor.is_complex() or tensor.layout != torch.strided:
        kind = getattr(values, "dtype", type(values).__name__)
        raise DataError(
            f"expected an array or a tensor of numbers, got {type(given).__name__} of {kind}; "
            "convert it first, for example with .to_numpy(dtype='float32')"
        )
    return tensor


def whole_numbers(
    values: Tensor | Array | int | None, device: torch.device, what: str = "label"
) -> Tensor:
    """Return labels or tasks as int64; the first that is no whole number is named.

    >>> whole_numbers(np.array([0.0, 1.5]), torch.device("cpu"))
    Traceback (most recent call last):
    ...
    sffa.errors.DataError: label 1 is 1.5, expected a whole number
    """
    tensor = tensor_of(values, device)
    if not tensor.is_floating_point():
        return tensor.long()
    wrong = (~(tensor.isfinite() & (tensor == tensor.floor()))).reshape(-1).nonzero()
    if len(wrong):
        first = int(wrong[0])
        found = float(tensor.reshape(-1)[first])
        raise DataError(f"{what} {first} is {found}, expected a whole number")
    return tensor.long()


def check_finite(x: Tensor, where: str = "") -> None:
    """Refuse examples (batch, ...) that would spoil the weights: NaN, infinite or beyond float32.

    A sum that is finite has finite terms, so most batches cost one pass; bytes cost none.

    >>> check_finite(torch.tensor([[0.0], [float("nan")]]), " of the batch")
    Traceback (most recent call last):
    ...
    sffa.errors.DataError: example 1 of the batch has a value that is not finite: nan
    """
    if not x.is_floating_point() or math.isfinite(x.sum(dtype=torch.float32).item()):
        return
    flat = x.reshape(len(x), -1)
    wrong = (~flat.float().isfinite()).nonzero()
    if len(wrong):
        row, place = wrong[0].tolist()
        raise DataError(
            f"example {row}{where} has a value that is not finite: {float(flat[row, place])}"
        )
