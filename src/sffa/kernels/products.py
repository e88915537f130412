"""Products of matrices, with vectors as wide as the processor has.

torch multiplies with MKL, which takes vectors of 512 bits on Intel's processors alone. oneDNN,
which comes with torch too, takes them wherever they are: on an AMD EPYC of the fifth generation a
product of some size takes less than half the time (`benchmarks/products.py`). Only rounding
differs. Which of the two is asked follows from processor and size, never from a clock, so a machine
stays with its bits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from sffa.environment import cpu_field

LEAST = 2**21  # multiply-adds from which oneDNN's call is worth it
_FEWEST = 16  # rows and columns below which MKL is as fast


def product(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """Return ``left @ right`` of two matrices; ``out`` is filled without a gradient.

    >>> product(torch.ones(2, 3), torch.ones(3, 4))
    tensor([[3., 3., 3., 3.],
            [3., 3., 3., 3.]])
    """
    if not _for_onednn(left, right):
        return torch.mm(left, right, out=out)
    if out is None:
        return linear(left, right.t())
    return out.copy_(_onednn(left, right.t(), None))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x @ weight.t() + bias``, as `torch.nn.functional.linear` does.

    >>> linear(torch.ones(2, 3), torch.ones(1, 3), torch.ones(1))
    tensor([[4.],
            [4.]])
    """
    if not _for_onednn(x, weight.t()):
        return F.linear(x, weight, bias)
    wanted = (x, weight) if bias is None else (x, weight, bias)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in wanted):
        found: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return found
    return _onednn(x, weight, bias)


@cache
def wide_only_in_onednn() -> bool:
    """Whether oneDNN has wider vectors on this processor than MKL: AVX-512 on one of AMD's."""
    return (
        torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and cpu_field("vendor_id") == "AuthenticAMD"
    )


def _for_onednn(left: Tensor, right: Tensor) -> bool:
    if torch.compiler.is_compiling():  # a graph is for every size, and for other processors
        return False
    rows, inner = left.shape
    columns = right.shape[1]
    return (
        rows * inner * columns >= LEAST
        and min(rows, inner, columns) >= _FEWEST
        and left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        and wide_only_in_onednn()
    )


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return ``x @ weight.t() + bias``; of a transposed ``x`` the operator makes a copy."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _onednn(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, to_output: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        to_x = product(to_output, weight) if ctx.needs_input_grad[0] else None
        to_weight = to_bias = None
        if ctx.needs_input_grad[1]:
            if weight.is_contiguous():
                to_weight = product(to_output.t(), x)
            else:  # a transposed view: in the memory order of what it is a view of
                to_weight = product(x.t(), to_output).t()
        if ctx.needs_input_grad[2]:
            to_bias = to_output.sum(dim=0)
        return to_x, to_weight, to_bias
