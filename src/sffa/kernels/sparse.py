"""The numba backend: the same winners on a CPU, with no tensor of all labels' drives."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.kernels import compiled, team
from sffa.kernels.winners import Answer, Gate, Incoming, Rule, Winners

_NORMS = {"unit": compiled.UNIT, "literal": compiled.LITERAL, "rms": compiled.RMS}
_Array = np.ndarray[Any, Any]


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
        labels, width = shape
        places, latents, asked = (
            _places(active.index),
            _array(active.value),
            _array(candidates.int()),
        )
        batch, count, winners = places.shape
        to_drive = np.empty(places.shape, np.float32)
        to_shared, to_label = np.empty((batch, width), np.float32), torch.empty(labels, width)
        wanted = (
            np.zeros((batch, count), np.float32) if to_activity is None else _array(to_activity)
        )
        relu, energy = rule.activation == "relu", _array(to_energy)
        given = asked, places, latents, relu, energy, wanted, to_drive, to_shared
        team.run(lambda i, j: compiled.differentiate(i, j, *given), batch, 4 * places.size)
        flat = places.reshape(-1, winners), to_drive.reshape(-1, winners)
        keys = np.maximum(asked, 0).reshape(-1)
        _scatter(keys, np.ones(keys.size, np.float32), *flat, to_label)
        shared = torch.from_numpy(to_shared)
        if incoming is None:
            return shared, to_label, None
        if to_weight is None:
            to_weight = torch.empty(incoming.weight.shape)
        below = incoming.latent
        _scatter(
            _array(below.index.int()).reshape(-1), _array(below.value).reshape(-1), *flat, to_weight
        )
        return shared, to_label, to_weight


def _scan(
    shared: Tensor,
    label: Tensor,
    incoming: Incoming | None,
    candidates: Tensor,
    rule: Rule,
    gate: Gate | None,
) -> Answer:
    """Run the loop over examples and candidates."""
    batch, count = candidates.shape
    winners = batch, count, 2 * rule.k
    index = torch.empty(winners, dtype=torch.int32)
    active, latent = torch.empty(winners), torch.empty(winners)
    energy = torch.empty(batch, count, 2)
    if incoming is None:
        below, weights = Winners(index[..., :0], active[..., :0]), np.empty((0, 0), np.float32)
    else:
        below, weights = incoming.latent, _array(incoming.weight)
    half = shared.shape[1] // 2 if gate is None else gate.own.shape[2]
    inputs = (_array(shared), _array(label), _places(below.index), _array(below.value))
    common = (
        _array(candidates.int()),
        (rule.k, _blocks(half, rule.k)),
        rule.activation == "relu",
        _NORMS[rule.norm],
        (_places(index), _array(active), _array(latent), _array(energy)),
    )
    work = batch * count * 2 * half * (2 + below.index.shape[2])
    if gate is None:
        team.run(lambda i, j: compiled.scan(i, j, *inputs, weights, *common), batch, work)
    else:
        blocks = _pack(weights, None if incoming is None else incoming.gate, gate, candidates)
        own = _places(gate.flat)
        team.run(
            lambda i, j: compiled.scan_gated(i, j, *inputs, *blocks, own, *common), batch, work
        )
    return Answer(energy, active.sum(dim=-1), Winners(index, active), Winners(index, latent))


def _scatter(keys: _Array, scale: _Array, place: _Array, grad: _Array, out: Tensor) -> None:
    """Sum the winners' gradients into the rows of ``out`` that their keys name."""
    given = keys, scale, place, grad, _array(out)
    work = 4 * keys.size * place.shape[1]
    team.run(lambda i, j: compiled.scatter_rows(i, j, *given), len(out), work)


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
    flat = [_array(tensor).reshape(-1) for tensor in (grad, curvature, weight, anchor)]
    flat.append(np.empty(0, np.float32) if offset is None else _array(offset).reshape(-1))
    team.run(
        lambda i, j: compiled.add_quadratic_gradient(i, j, *flat), grad.numel(), 4 * grad.numel()
    )


def warm_up() -> float:
    """Compile every loop now (or read it from numba's cache) and give the seconds it took."""
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
    return time.perf_counter() - started


def _pack(
    weight: _Array, previous: Gate | None, gate: Gate, candidates: Tensor
) -> tuple[_Array, _Array]:
    """Copy the used labels' blocks of the weights, and say which row of it each neuron has."""
    labels = gate.own.shape[0]
    if previous is None:  # every neuron of the previous layer may speak to every label
        rows = local = torch.arange(len(weight), dtype=torch.int32).expand(labels, -1)
    else:
        rows, local = previous.flat, previous.local(len(weight))
    used = torch.zeros(labels, dtype=torch.bool)
    used[candidates.clamp(min=0).long().flatten()] = True
    packed = np.empty((labels, rows.shape[1], gate.flat.shape[1]), np.float32)
    given = weight, _places(rows), _places(gate.flat), _array(used), packed
    team.run(lambda i, j: compiled.pack(i, j, *given), labels, 4 * packed.size)
    return packed, _places(local)


def _blocks(half: int, k: int) -> int:
    """Choose into how many blocks a half is cut for the search of its k winners."""
    blocks = max(64, 32 * -(-2 * k // 32))
    return blocks if half >= 2 * blocks else half


def _array(tensor: Tensor) -> _Array:
    """Show a tensor's memory to numba; copies only what is not contiguous."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    array: _Array = tensor.contiguous().numpy()
    return array


def _places(tensor: Tensor) -> _Array:
    """Show indices as unsigned ones of 32 bits."""
    return _array(tensor.int()).view(np.uint32)
