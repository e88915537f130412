"""The one contract between a layer and the arithmetic, and its backends.

``torch`` runs on any device and is the reference; ``numba`` is the fast one on CPUs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.errors import ConfigurationError, nearest
from sffa.kernels import team
from sffa.kernels.dense import TOGETHER, Scaled, dense_answer, dense_gradients
from sffa.kernels.reference import TorchKernel, expand
from sffa.kernels.winners import Answer, Gate, Incoming, Kernel, Rule, Winners, norm_factor

__all__ = [
    "BACKENDS",
    "TOGETHER",
    "Answer",
    "Gate",
    "Incoming",
    "Kernel",
    "Rule",
    "Scaled",
    "TorchKernel",
    "Winners",
    "add_quadratic_gradient",
    "dense_answer",
    "dense_gradients",
    "expand",
    "get",
    "norm_factor",
    "team",
    "warm_up",
]

BACKENDS = ("auto", "torch", "numba")


def get(name: str, device: torch.device) -> Kernel:
    """Return the backend of that name; ``auto`` is numba on a CPU and torch elsewhere.

    >>> import torch
    >>> get("torch", torch.device("cpu")).name
    'torch'
    """
    if name not in BACKENDS:
        raise ConfigurationError(
            f"unknown backend '{name}'{nearest(name, list(BACKENDS))}; known: {', '.join(BACKENDS)}"
        )
    if name == "torch" or (name == "auto" and device.type != "cpu"):
        return TorchKernel()
    if device.type != "cpu":
        raise ConfigurationError(f"backend 'numba' runs on a CPU, not on {device}; use 'torch'")
    from sffa.kernels.sparse import NumbaKernel

    return NumbaKernel()


@torch.no_grad()
def add_quadratic_gradient(
    grad: Tensor,
    curvature: Tensor,
    weight: Tensor,
    anchor: Tensor,
    offset: Tensor | None = None,
    *,
    compiled: bool = False,
) -> None:
    """Add ``curvature·(weight − anchor)``, and ``offset`` if given, to ``grad``.

    ``compiled`` it is one pass over memory and one call, where torch takes three: with millions of
    weights that is a third less time. It is for learners that run on numba already, on a CPU.

    >>> grad = torch.zeros(2)
    >>> add_quadratic_gradient(grad, torch.tensor([1.0, 2.0]), torch.ones(2), torch.zeros(2))
    >>> grad
    tensor([1., 2.])
    """
    tensors = (grad, curvature, weight, anchor, *([] if offset is None else [offset]))
    if compiled and all(_alike(tensor, grad) for tensor in tensors):
        from sffa.kernels.sparse import add_quadratic_gradient as in_one_pass

        in_one_pass(*tensors)
        return
    grad.addcmul_(curvature, weight - anchor)
    if offset is not None:
        grad.add_(offset)


def _alike(tensor: Tensor, other: Tensor) -> bool:
    """Whether compiled loops may walk through both side by side."""
    return (
        tensor.device.type == "cpu"
        and tensor.dtype == other.dtype == torch.float32
        and tensor.shape == other.shape
        and tensor.is_contiguous()
    )


def warm_up() -> float:
    """Compile the numba backend's loops, kept for next time; return the seconds it took.

    >>> seconds = warm_up()  # some ten the first time, then a part of one
    """
    from sffa.kernels.sparse import warm_up as compile_loops

    return compile_loops()
