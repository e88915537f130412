"""Compiled loops on torch's own threads.

numba's parallel loops would bring threads of their own beside torch's, which spin for milliseconds
after each product and keep a core from whoever comes next. torch's threads are those of an OpenMP
library, and that library runs any function of C: here the tasks of `sffa.kernels.tasks`. Where it
is not found, a task runs on the calling thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from sffa.kernels import team
from sffa.kernels.task_data import (
    DIMENSIONS,
    FIRST_TENSOR,
    HEADER,
    NUMBERS,
    PER_TENSOR,
)

LEAST = 200_000  # multiply-adds that are worth a thread: some ten microseconds of one
_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Task(Protocol):
    """A compiled C function that takes the address of its data: see `sffa.kernels.tasks`."""

    @property
    def address(self) -> int:
        """Where its code is."""
        ...


class Call:
    """A task with its tensors, to be run again and again.

    It goes through ``size`` rows, which takes ``work`` multiply-adds; each thread takes a chunk of
    them at a time, of ``chunks`` for every thread.
    """

    def __init__(
        self,
        task: Task,
        tensors: Sequence[Tensor],
        numbers: Sequence[int | float] = (),
        *,
        size: int,
        work: int,
        chunks: int = 4,
    ) -> None:
        self._address = task.address
        self._function = _Function(task.address)
        self._most = max(1, min(work // LEAST, size))
        self._chunks, self._size = chunks, size
        self._tensors = list(tensors)  # kept, as the loop knows their addresses only
        places = [number for tensor in tensors for number in _place(tensor)]
        self._addresses = places[::PER_TENSOR]
        self._data = np.array([0, 1, size, *[0] * NUMBERS, *places], np.int64)
        self._where = self._data.ctypes.data
        self._numbers = self._data[HEADER:FIRST_TENSOR].view(np.float64)
        self.set_numbers(*numbers)

    def set_numbers(self, *numbers: int | float) -> None:
        """Set the numbers of the task, those that are not whole by their bits."""
        for place, number in enumerate(numbers):
            if isinstance(number, float):
                self._numbers[place] = number
            else:
                self._data[HEADER + place] = number

    def holds(self, tensors: Sequence[Tensor]) -> bool:
        """Whether it was made with these tensors, and they are where they were."""
        return len(tensors) == len(self._tensors) and all(
            new is old and new.data_ptr() == place
            for new, old, place in zip(tensors, self._tensors, self._addresses, strict=True)
        )

    def give(self, number: int, tensor: Tensor) -> None:
        """Put a tensor of the same shape in the place of one."""
        known = self._tensors[number]
        if tensor.shape != known.shape:
            raise ValueError(f"expected the shape {known.shape}")
        if tensor is known and tensor.data_ptr() == self._addresses[number]:
            return
        self._tensors[number] = tensor
        self._addresses[number] = _place(tensor)[0]
        self._data[FIRST_TENSOR + PER_TENSOR * number] = self._addresses[number]

    def run(self) -> None:
        """Run it on as many threads as torch may use here, if that is worth it."""
        data, threads = self._data, self._most
        if threads > 1:
            threads = min(threads, team.loop_threads())
        start = None if threads == 1 or _forked else starter()
        data[0] = 0
        if start is None:
            data[1] = 1
            self._function(self._where)
        else:
            data[1] = min(self._size, self._chunks * threads)
            start(self._address, self._where, threads, 0)


def fits(tensor: Tensor) -> bool:
    """Whether a compiled loop can walk through a tensor."""
    return tensor.is_cpu and tensor.is_contiguous() and tensor.itemsize == 4


def _place(tensor: Tensor) -> list[int]:
    """Return a tensor's address and shape; the loops trust them."""
    if not fits(tensor):
        raise ValueError("a compiled loop needs contiguous tensors of 32 bits on the CPU")
    shape = tensor.shape
    return [tensor.data_ptr(), *shape, *[1] * (DIMENSIONS - len(shape))]


_forked = False


def _after_fork() -> None:
    """Stay on one thread in a forked process, which has none of its parent's others."""
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@cache
def starter() -> Any:
    """Return what starts a function on torch's threads, or None where it is not found."""
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        start = library.GOMP_parallel  # from the library that torch was linked with
    except (OSError, AttributeError):
        return None
    start.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    start.restype = None
    return start
