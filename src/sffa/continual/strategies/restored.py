"""Whether the buffers of a checkpoint, which anyone may have written, are what a strategy keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from sffa.continual.stream import AnyStream
from sffa.core import Learner
from sffa.errors import ModelFileError

INTEGERS = (torch.int64,)
REALS = (torch.float32,)


def checked(
    buffers: Mapping[str, Tensor],
    name: str,
    shape: tuple[int | None, ...],
    dtypes: Iterable[torch.dtype] = REALS,
) -> Tensor:
    """Return a buffer if it has that type and shape, None being any size, and is finite."""
    found = buffers.get(name)
    if found is None:
        raise ModelFileError(f"the buffer '{name}' is missing")
    sizes = [size if wanted is None else wanted for size, wanted in zip(found.shape, shape)]  # noqa: B905
    if found.dtype not in tuple(dtypes) or list(found.shape) != sizes or found.ndim != len(shape):
        raise ModelFileError(
            f"the buffer '{name}' is of type {found.dtype} and shape {tuple(found.shape)}"
        )
    if found.is_floating_point() and not bool(found.isfinite().all()):
        raise ModelFileError(f"the buffer '{name}' holds numbers that are not finite")
    return found


def check_among(found: Tensor, known: Iterable[int], name: str) -> None:
    """Refuse numbers that are not among those known."""
    odd = {*found.reshape(-1).tolist()} - {*known}
    if odd:
        raise ModelFileError(f"the buffer '{name}' holds {min(odd)}, which is not known")


def check_examples(
    buffers: Mapping[str, Tensor], names: tuple[str, str], learner: Learner, stream: AnyStream
) -> int:
    """Refuse stored examples and labels unlike those of the stream; return how many there are."""
    x, y = names
    like = stream.first.train.take(slice(0, 1)).x
    labels = checked(buffers, y, (None,), INTEGERS)
    checked(buffers, x, (len(labels), *like.shape[1:]), (like.dtype, torch.float32))
    check_among(labels, learner.classes, y)
    return len(labels)


def check_tasks(found: Tensor, name: str, learner: Learner) -> None:
    """Refuse tasks that the learner has not met; -1 says that it is told none."""
    check_among(found, learner.tasks or [-1], name)
