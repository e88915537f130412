"""The arithmetic behind an FFA layer, where every neuron counts.

The latents of a batch under all its labels are tens of megabytes. Written out anew at every step of
the way they cost half as much as the products, so they are made in place and normalised by a factor
on the product. And many rectified neurons are silent under a label, above all in a stream of
classes: those that no example of the batch wakes under it are left out of the next layer's product
and of all gradients. Where most of the others are silent too, compiled loops go through those that
are awake (`sffa.kernels.sparse_rows`). Both change the time, and the numbers by rounding only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from sffa.kernels import team
from sffa.kernels.products import product

if TYPE_CHECKING:
    from sffa.kernels.sparse_rows import SparseRows

_WORTH = 0.8  # leave silent neurons out if no more than this share is awake: it takes a copy


TOGETHER = 2**18  # latents up to which candidates are taken together


@dataclass(frozen=True)
class Awake:
    """Latents (candidates · batch, awake) under some candidates, one after the other.

    They are those of the neurons at ``places``; None for all. ``compiled``: whether loops may skip
    the zeros.
    """

    value: Tensor
    places: Tensor | None
    compiled: bool = False

    @cached_property
    def rows(self) -> SparseRows | None:
        """What is not zero, where it is so little that a loop is faster than a product."""
        if not self.compiled:
            return None
        from sffa.kernels.sparse_rows import sparse_rows

        return sparse_rows(self.value)

    def times(self, weight: Tensor) -> Tensor:
        """Return the product with the rows of a matrix (neurons, width) that are awake."""
        part = weight if self.places is None else weight[self.places]
        if self.rows is None:
            return product(self.value, part)
        from sffa.kernels.sparse_rows import product as sparse_product

        return sparse_product(self.rows, part)

    def transposed_times(self, other: Tensor) -> Tensor:
        """Return the product (awake, width) of the transposed latents with a matrix."""
        if self.rows is None:
            return product(self.value.t(), other)
        from sffa.kernels.sparse_rows import product as sparse_product
        from sffa.kernels.sparse_rows import transposed

        return sparse_product(transposed(self.rows), other)


@dataclass(frozen=True)
class Scaled:
    """Latents by candidates; ``factor`` (batch, candidates) is what they are multiplied by.

    >>> import torch
    >>> every = torch.tensor([[0, 1]] * 3)  # three examples, each under both labels
    >>> first = dense_answer(torch.ones(3, 8), torch.zeros(2, 8), None, every, "relu", None)
    >>> below = Scaled(first.awake, first.energy.rsqrt())
    >>> tuple(below.factor.shape)
    (3, 2)
    """

    latents: list[Awake]
    factor: Tensor


class DenseAnswer(NamedTuple):
    """``energy`` and ``activity`` (the sum) of each example and candidate; ``active`` the latents.

    Only the first two can be differentiated; ``awake`` is what the next layer needs of the latents.
    """

    energy: Tensor
    activity: Tensor
    active: Tensor
    awake: list[Awake]


def dense_answer(
    shared: Tensor,
    label: Tensor,
    incoming: tuple[Scaled, Tensor] | None,
    candidates: Tensor,
    activation: str,
    mask: Tensor | None,
    compiled: bool = False,
) -> DenseAnswer:
    """Let every neuron answer each example under each candidate label.

    Drives are as in `sffa.kernels.winners.Kernel.answer`; ``incoming`` is the latent below and its
    weights, ``mask`` (labels, width) tells which neurons a label may use; with ``compiled``,
    the next layer may use compiled loops. Gradients flow to ``shared``, ``label`` and the weights.

    >>> import torch
    >>> every = torch.tensor([[0, 1]] * 3)  # three examples, each under both labels
    >>> first = dense_answer(torch.ones(3, 8), torch.zeros(2, 8), None, every, "relu", None)
    >>> first.energy
    tensor([[8., 8.],
            [8., 8.],
            [8., 8.]])
    """
    if not torch.is_grad_enabled():
        return _answer(shared, label, incoming, candidates, activation, mask, compiled)
    weight = None if incoming is None else incoming[1]
    return DenseAnswer(
        *_Dense.apply(shared, label, weight, incoming, candidates, activation, mask, compiled)  # type: ignore[no-untyped-call]
    )


def dense_gradients(
    awake: list[Awake],
    incoming: tuple[Scaled, Tensor] | None,
    candidates: Tensor,
    activation: str,
    shape: tuple[int, int],
    to_energy: Tensor | None,
    to_activity: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the gradients of ``shared``, ``label``, of that ``shape``, and the weights.

    ``to_energy`` and ``to_activity`` (batch, candidates) are those of the answer that ``awake``
    belongs to.

    >>> import torch
    >>> every = torch.tensor([[0, 1]] * 3)  # three examples, each under both labels
    >>> first = dense_answer(torch.ones(3, 8), torch.zeros(2, 8), None, every, "relu", None)
    >>> ones = torch.ones(3, 2)
    >>> shared, label, weight = dense_gradients(
    ...     first.awake, None, every, "relu", (2, 8), ones, None
    ... )
    >>> tuple(shared.shape), tuple(label.shape), weight is None
    ((3, 8), (2, 8), True)
    """
    labels, width = shape
    rows = candidates.clamp(min=0).long().t()
    parts: dict[int, tuple[Tensor, Tensor, Tensor | None]] = {}
    groups = _groups(awake, rows)

    def through(first: int, last: int) -> None:
        like = awake[0].value if awake else torch.zeros((), device=rows.device)
        to_shared, to_label = like.new_zeros(rows.shape[1], width), like.new_zeros(labels, width)
        to_weight = None if incoming is None else torch.zeros_like(incoming[1], requires_grad=False)
        for number in range(first, last):
            latent, group = awake[number], groups[number]
            delta = _delta(
                latent.value,
                None if to_energy is None else _column(to_energy, group),
                None if to_activity is None else _column(to_activity, group),
                activation,
            )
            chosen = F.one_hot(rows[group].flatten(), labels).to(delta.dtype)
            each = delta.view(group.stop - group.start, rows.shape[1], delta.shape[1])
            _add(to_shared, each[0] if len(each) == 1 else each.sum(dim=0), None, latent.places)
            _add(to_label, chosen.t() @ delta, None, latent.places)
            if incoming is not None and to_weight is not None:
                below = incoming[0].latents[number]
                delta.mul_(_column(incoming[0].factor, group))
                _add(to_weight, below.transposed_times(delta), below.places, latent.places)
        parts[first] = to_shared, to_label, to_weight

    team.run(through, len(awake), _work(rows, width, incoming))
    first, *others = (parts[key] for key in sorted(parts))
    for other in others:
        for total, part in zip(first, other, strict=True):
            if total is not None and part is not None:
                total.add_(part)
    return first


def _work(rows: Tensor, width: int, incoming: tuple[Scaled, Tensor] | None) -> int:
    """Return the multiply-adds of a pass over all candidates; other devices have threads anyway."""
    if rows.device.type != "cpu":
        return 0
    return rows.numel() * width * (8 if incoming is None else len(incoming[1]))


def _answer(
    shared: Tensor,
    label: Tensor,
    incoming: tuple[Scaled, Tensor] | None,
    candidates: Tensor,
    activation: str,
    mask: Tensor | None,
    compiled: bool,
) -> DenseAnswer:
    rows = candidates.clamp(min=0).long().t()  # (candidates, batch): a candidate is contiguous
    count, (batch, width) = len(rows), shared.shape
    active = shared.new_empty(count, batch, width)
    energy, activity = shared.new_empty(count, batch), shared.new_empty(count, batch)
    together = max(1, TOGETHER // max(batch * width, 1))
    starts = range(0, count, together)
    groups = [slice(start, min(start + together, count)) for start in starts]
    if incoming is not None:
        groups = _groups(incoming[0].latents, rows)
    awake = [Awake(active[group].flatten(0, 1), None) for group in groups]

    def through(first: int, last: int) -> None:
        for number in range(first, last):
            group, latents = groups[number], awake[number].value
            torch.index_select(label, 0, rows[group].flatten(), out=latents)
            latents.view(group.stop - group.start, batch, width).add_(shared)
            if incoming is not None:
                below, weight = incoming[0].latents[number], incoming[1]
                latents.addcmul_(below.times(weight), _column(incoming[0].factor, group))
            latents.sigmoid_() if activation == "sigmoid" else latents.relu_()
            if mask is not None:
                latents.mul_(mask[rows[group].flatten()])
            torch.sum(latents.square(), dim=1, out=energy[group].flatten())
            torch.sum(latents, dim=1, out=activity[group].flatten())
            awake[number] = _awake(latents, compiled and activation == "relu")

    team.run(through, len(groups), _work(rows, width, incoming))
    return DenseAnswer(energy.t(), activity.t(), active.transpose(0, 1), awake)


def _groups(latents: list[Awake], rows: Tensor) -> list[slice]:
    """Return which candidates each of the latents belongs to; ``rows`` is (candidates, batch)."""
    groups, start = [], 0
    for each in latents:
        stop = start + len(each.value) // max(rows.shape[1], 1)
        groups.append(slice(start, stop))
        start = stop
    return groups


def _column(values: Tensor, group: slice) -> Tensor:
    """Return values (batch, candidates) of some candidates as a column, one after the other."""
    return values[:, group].t().reshape(-1, 1)


class _Dense(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        shared: Tensor,
        label: Tensor,
        weight: Tensor | None,
        incoming: tuple[Scaled, Tensor] | None,
        candidates: Tensor,
        activation: str,
        mask: Tensor | None,
        compiled: bool,
    ) -> DenseAnswer:
        answer = _answer(shared, label, incoming, candidates, activation, mask, compiled)
        ctx.given = answer.awake, incoming, candidates, activation, tuple(label.shape)
        ctx.mark_non_differentiable(answer.active)
        ctx.set_materialize_grads(False)
        return answer

    @staticmethod
    def backward(
        ctx: Any, to_energy: Tensor | None, to_activity: Tensor | None, *_: None
    ) -> tuple[Tensor | None, ...]:
        awake, incoming, candidates, activation, shape = ctx.given
        given = awake, incoming, candidates, activation, shape, to_energy, to_activity
        return *dense_gradients(*given), None, None, None, None, None


def _delta(
    active: Tensor, to_energy: Tensor | None, to_activity: Tensor | None, activation: str
) -> Tensor:
    """Return the gradient of the drives whose latents are ``active``."""
    delta = active * (0.0 if to_energy is None else 2 * to_energy)
    if to_activity is not None:
        delta.add_(to_activity)
        if activation == "relu":
            delta.mul_(active > 0)
    return delta.mul_(active * (1 - active)) if activation == "sigmoid" else delta


def _awake(active: Tensor, compiled: bool) -> Awake:
    """Leave out the neurons that are silent throughout, if they are many enough."""
    if not active.numel():
        return Awake(active, None)
    places = active.amax(dim=0).nonzero().squeeze(1)
    if len(places) > _WORTH * active.shape[1]:
        return Awake(active, None, compiled)
    return Awake(active.index_select(1, places), places, compiled)


def _add(total: Tensor, part: Tensor, rows: Tensor | None, columns: Tensor | None) -> None:
    """Add a matrix into the rows and columns of a larger one that it stands for."""
    if rows is not None and columns is not None:
        places = rows[:, None], columns
        total[places] = total[places].add_(part)
    elif rows is not None:
        total.index_add_(0, rows, part)
    elif columns is not None:
        total.index_add_(1, columns, part)
    else:
        total.add_(part)
