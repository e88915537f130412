"""The numba backend: the same winners on a CPU, with no tensor of all labels' drives."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from sffa.kernels import tasks
from sffa.kernels.ahead import compile_last
from sffa.kernels.layer_pass import Below, LayerGradients, LayerPass
from sffa.kernels.openmp import Call
from sffa.kernels.winners import Answer, Gate, Incoming, Rule, Winners


class NumbaKernel:
    """Runs the loops of `sffa.kernels.compiled`; products stay with torch."""

    name = "numba"

    def answer(
        self,
        shared: Tensor,
        label: Tensor,
        incoming: Incoming | None,
        candidates: Tensor,
        rule: Rule,
        gate: Gate | None,
    ) -> Answer:
        """See `sffa.kernels.winners.Kernel.answer`."""
        if not torch.is_grad_enabled():
            return _scan(shared, label, incoming, candidates, rule, gate)
        weight = None if incoming is None else incoming.weight
        energy, activity, index, active, latent = _Differentiable.apply(  # type: ignore[no-untyped-call]
            shared, label, weight, incoming, candidates, rule, gate
        )
        return Answer(energy, activity, Winners(index, active), Winners(index, latent))

    def gradients(
        self,
        active: Winners,
        incoming: Incoming | None,
        candidates: Tensor,
        rule: Rule,
        shape: tuple[int, int],
        to_energy: Tensor,
        to_activity: Tensor | None,
        to_weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """See `sffa.kernels.winners.Kernel.gradients`."""
        if to_activity is None:
            to_activity = torch.zeros(candidates.shape)
        run = LayerGradients(
            _plain(active),
            _below(incoming),
            candidates.int().contiguous(),
            rule,
            shape,
            to_energy.contiguous(),
            to_activity.contiguous(),
        )
        if incoming is not None and to_weight is None:
            to_weight = torch.empty(incoming.weight.shape)
        run.run(to_weight)
        return run.to_shared, run.to_label, to_weight


def _plain(winners: Winners) -> Winners:
    """Return winners as the compiled loops need them."""
    return Winners(winners.index.int().contiguous(), winners.value.contiguous())


def _below(incoming: Incoming | None) -> Below | None:
    return None if incoming is None else Below(_plain(incoming.latent), incoming.gate)


def _scan(
    shared: Tensor,
    label: Tensor,
    incoming: Incoming | None,
    candidates: Tensor,
    rule: Rule,
    gate: Gate | None,
) -> Answer:
    """Run the loop over examples and candidates."""
    asked = candidates.int().contiguous()
    drive = shared.detach().contiguous(), label.detach().contiguous()
    layer = LayerPass(*drive, asked, rule, gate, _below(incoming))
    layer.scan(None if incoming is None else incoming.weight.detach().contiguous())
    return Answer(layer.energy, layer.activity, layer.active, layer.latent)


class _Differentiable(torch.autograd.Function):
    """(shared, label, weight) to energy and activity; the winners come along undifferentiated."""

    @staticmethod
    def forward(
        ctx: Any,
        shared: Tensor,
        label: Tensor,
        weight: Tensor | None,
        incoming: Incoming | None,
        candidates: Tensor,
        rule: Rule,
        gate: Gate | None,
    ) -> tuple[Tensor, ...]:
        answer = _scan(shared, label, incoming, candidates, rule, gate)
        index, active, latent = answer.active.index, answer.active.value, answer.latent.value
        ctx.given = answer.active, incoming, candidates, rule, tuple(label.shape)
        ctx.mark_non_differentiable(index, active, latent)
        return answer.energy, answer.activity, index, active, latent

    @staticmethod
    def backward(
        ctx: Any, to_energy: Tensor, to_activity: Tensor, *_: Tensor
    ) -> tuple[Tensor | None, ...]:
        active, incoming, candidates, rule, shape = ctx.given
        given = active, incoming, candidates, rule, shape, to_energy, to_activity
        gradients = NumbaKernel().gradients(*given)
        return *gradients, None, None, None, None


def add_quadratic_gradient(
    grad: Tensor, curvature: Tensor, weight: Tensor, anchor: Tensor, offset: Tensor | None = None
) -> None:
    """Do `sffa.kernels.add_quadratic_gradient` for contiguous tensors of one shape on the CPU."""
    none = torch.empty(0)
    flat = [each.flatten() for each in (grad, curvature, weight, anchor)]
    flat.append(none if offset is None else offset.flatten())
    size = grad.numel()
    Call(tasks.add_quadratic_gradient, flat, size=size, work=4 * size).run()


def warm_up() -> float:
    """Compile every loop of SFFA now (or read it from numba's cache); return the seconds it took.

    Those of FFA (`sffa.kernels.sparse_rows`) are compiled when most of its latents are silent.
    """
    started = time.perf_counter()
    kernel = NumbaKernel()
    candidates = torch.zeros(1, 1, dtype=torch.int32)
    shared, label, weight = torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(2, 2)
    rule = Rule(1, "sigmoid", "unit")
    for gate in (None, Gate(torch.tensor([[[0], [1]]]))):
        first = _scan(shared, label, None, candidates, rule, gate)
        incoming = Incoming(first.latent, weight, gate)
        second = _scan(shared, label, incoming, candidates, rule, gate)
        given = incoming, candidates, rule, (1, 2), second.energy, None
        kernel.gradients(second.active, *given)
    add_quadratic_gradient(*torch.zeros(4, 1))
    _ = tasks.label_part.address
    compile_last()
    return time.perf_counter() - started
