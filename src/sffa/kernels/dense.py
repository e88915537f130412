"""The arithmetic behind an FFA layer, where every neuron counts.

The latents of a batch under all its labels are tens of megabytes. Written out anew at every step of
the way they cost half as much as the products, so they are made in place and normalised by a factor
on the product. And many rectified neurons fall silent for good, above all in a stream of classes:
those that no example of the batch wakes are left out of the next layer's product and of all
gradients, which changes nothing but the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

_WORTH = 0.8  # leave silent neurons out if no more than this share is awake: it takes a copy


@dataclass(frozen=True)
class Awake:
    """Latents (batch, candidates, awake) of the neurons at ``places``; None if that is all."""

    value: Tensor
    places: Tensor | None


@dataclass(frozen=True)
class Scaled:
    """Latents of which each example and candidate's are to be multiplied by its ``factor``."""

    latent: Awake
    factor: Tensor


class DenseAnswer(NamedTuple):
    """``energy`` and ``activity`` (the sum) of each example and candidate; ``active`` the latents.

    Only the first two can be differentiated; ``awake`` is what the next layer needs of the latents.
    """

    energy: Tensor
    activity: Tensor
    active: Tensor
    awake: Awake


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
    below, weight = (None, None) if incoming is None else incoming
    rows = candidates.clamp(min=0)
    return DenseAnswer(
        *_Dense.apply(shared, label, weight, below, rows, activation, mask)  # type: ignore[no-untyped-call]
    )


class _Dense(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        shared: Tensor,
        label: Tensor,
        weight: Tensor | None,
        below: Scaled | None,
        rows: Tensor,
        activation: str,
        mask: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Awake]:
        active = F.embedding(rows, label).add_(shared[:, None, :])
        if below is not None and weight is not None:
            value, places = below.latent.value, below.latent.places
            product = value @ (weight if places is None else weight[places])
            active.addcmul_(product, below.factor[..., None])
        active.sigmoid_() if activation == "sigmoid" else active.relu_()
        if mask is not None:
            active.mul_(mask[rows])
        energy, activity = active.square().sum(dim=-1), active.sum(dim=-1)
        awake = _awake(active)
        ctx.save_for_backward(awake.value, awake.places, rows)
        ctx.below, ctx.activation = below, activation
        ctx.labels, ctx.width = label.shape
        ctx.below_width = 0 if weight is None else len(weight)
        ctx.mark_non_differentiable(active)
        ctx.set_materialize_grads(False)
        return energy, activity, active, awake

    @staticmethod
    def backward(
        ctx: Any, to_energy: Tensor | None, to_activity: Tensor | None, *_: None
    ) -> tuple[Tensor | None, ...]:
        active, places, rows = ctx.saved_tensors
        delta = active * (0.0 if to_energy is None else (2 * to_energy)[..., None])
        if to_activity is not None:
            delta.add_(to_activity[..., None])
            if ctx.activation == "relu":
                delta.mul_(active > 0)
        if ctx.activation == "sigmoid":
            delta.mul_(active * (1 - active))
        flat = delta.flatten(0, 1)
        chosen = F.one_hot(rows.flatten(), ctx.labels).to(flat.dtype)
        to_shared = _spread(delta.sum(dim=1), None, len(delta), places, ctx.width)
        to_label = _spread(chosen.t() @ flat, None, ctx.labels, places, ctx.width)
        to_weight = None
        if (below := ctx.below) is not None:
            delta.mul_(below.factor[..., None])
            product = below.latent.value.flatten(0, 1).t() @ flat
            to_weight = _spread(product, below.latent.places, ctx.below_width, places, ctx.width)
        return to_shared, to_label, to_weight, None, None, None, None


def _awake(active: Tensor) -> Awake:
    """Leave out the neurons that are silent throughout, if they are many enough."""
    width = active.shape[-1]
    if not active.numel():
        return Awake(active, None)
    places = active.flatten(0, 1).amax(dim=0).nonzero().squeeze(1)
    if len(places) > _WORTH * width:
        return Awake(active, None)
    return Awake(active.index_select(-1, places), places)


def _spread(
    small: Tensor, rows: Tensor | None, height: int, columns: Tensor | None, width: int
) -> Tensor:
    """Put a matrix back into one with the rows and columns that were left out, zero there."""
    if rows is None and columns is None:
        return small
    full = small.new_zeros(height, width)
    if rows is None:
        full[:, columns] = small
    elif columns is None:
        full[rows] = small
    else:
        full[rows[:, None], columns] = small
    return full
