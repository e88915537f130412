"""The arithmetic behind an FFA layer, where every neuron counts.

The latents of a batch under all its labels are tens of megabytes. Written out anew at every step of
the way they cost half as much as the products, so they are made in place and normalised by a factor
on the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Scaled:
    """Latents (batch, candidates, width), each to be multiplied by its ``factor``."""

    value: Tensor
    factor: Tensor


class DenseAnswer(NamedTuple):
    """``energy`` and ``activity`` (the sum) of each example and candidate; ``active`` the latents.

    The latents cannot be differentiated.
    """

    energy: Tensor
    activity: Tensor
    active: Tensor


def dense_answer(
    shared: Tensor,
    label: Tensor,
    incoming: tuple[Scaled, Tensor] | None,
    candidates: Tensor,
    activation: str,
    mask: Tensor | None,
) -> DenseAnswer:
    """Let every neuron answer each example under each candidate label.

    Drives are as in `sffa.kernels.winners.Kernel.answer`; ``incoming`` is the latent below and its
    weights, ``mask`` (labels, width) tells which neurons a label may use. Gradients flow to
    ``shared``, ``label`` and the weights.
    """
    latent, weight = (None, None) if incoming is None else incoming
    rows = candidates.clamp(min=0)
    return DenseAnswer(
        *_Dense.apply(shared, label, weight, latent, rows, activation, mask)  # type: ignore[no-untyped-call]
    )


class _Dense(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        shared: Tensor,
        label: Tensor,
        weight: Tensor | None,
        latent: Scaled | None,
        rows: Tensor,
        activation: str,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        active = F.embedding(rows, label).add_(shared[:, None, :])
        if latent is not None and weight is not None:
            drive = latent.value @ weight
            active.addcmul_(drive, latent.factor[..., None])
        active.sigmoid_() if activation == "sigmoid" else active.relu_()
        if mask is not None:
            active.mul_(mask[rows])
        energy, activity = active.square().sum(dim=-1), active.sum(dim=-1)
        ctx.save_for_backward(active, rows)
        ctx.latent, ctx.activation, ctx.labels = latent, activation, len(label)
        ctx.mark_non_differentiable(active)
        ctx.set_materialize_grads(False)
        return energy, activity, active

    @staticmethod
    def backward(
        ctx: Any, to_energy: Tensor | None, to_activity: Tensor | None, _: None
    ) -> tuple[Tensor | None, ...]:
        active, rows = ctx.saved_tensors
        latent: Scaled | None = ctx.latent
        delta = active * (0.0 if to_energy is None else (2 * to_energy)[..., None])
        if to_activity is not None:
            delta.add_(to_activity[..., None])
            if ctx.activation == "relu":
                delta.mul_(active > 0)
        if ctx.activation == "sigmoid":
            delta.mul_(active * (1 - active))
        to_shared = delta.sum(dim=1)
        flat = delta.flatten(0, 1)
        to_label = F.one_hot(rows.flatten(), ctx.labels).to(flat.dtype).t() @ flat
        to_weight = None
        if latent is not None:
            delta.mul_(latent.factor[..., None])
            to_weight = latent.value.flatten(0, 1).t() @ flat
        return to_shared, to_label, to_weight, None, None, None, None
