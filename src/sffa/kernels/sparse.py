"""The numba backend: the same winners on a CPU, with no tensor of all labels' drives."""

from __future__ import annotations

import threading
import time
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from sffa.kernels import compiled
from sffa.kernels.winners import Answer, Gate, Incoming, Rule, Winners

_MOST_THREADS = int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
_NORMS = {"unit": compiled.UNIT, "literal": compiled.LITERAL, "rms": compiled.RMS}


class NumbaKernel:
    """Runs `sffa.kernels.compiled` behind an autograd function; GEMMs stay with torch."""

    name = "numba"

    def __init__(self) -> None:
        start_threads()

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
        weight = None if incoming is None else incoming.weight
        energy, activity, index, active, latent = _Scan.apply(  # type: ignore[no-untyped-call]
            shared, label, weight, incoming, candidates, rule, gate
        )
        return Answer(energy, activity, Winners(index, active), Winners(index, latent))


class _Scan(torch.autograd.Function):
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
        follow_torch()
        batch, count = candidates.shape
        winners = batch, count, 2 * rule.k
        index = torch.empty(winners, dtype=torch.int32)
        active, latent = torch.empty(winners), torch.empty(winners)
        energy = torch.empty(batch, count, 2)
        candidates = candidates.to(torch.int32)
        if incoming is None or weight is None:
            below = Winners(index[..., :0], active[..., :0])
            weights = np.empty((0, shared.shape[1]), np.float32)
        else:
            below = Winners(incoming.latent.index.int().contiguous(), incoming.latent.value)
            weights = _array(weight)
        half = shared.shape[1] // 2 if gate is None else gate.own.shape[2]
        sizes = (rule.k, _blocks(half, rule.k), min(batch, 4 * numba.get_num_threads()))
        relu = rule.activation == "relu"
        inputs = (_array(shared), _array(label), (_places(below.index), _array(below.value)))
        outputs = (_places(index), _array(active), _array(latent), _array(energy))
        common = (_array(candidates), sizes, relu, _NORMS[rule.norm], outputs)
        if gate is None:
            compiled.scan(*inputs, weights, *common)
        else:
            previous = None if incoming is None else incoming.gate
            packed, local = _pack(weights, previous, gate, candidates)
            own = _places(gate.own.flatten(1).int())
            compiled.scan_gated(*inputs, packed, local, own, *common)
        ctx.save_for_backward(index, active, candidates, below.index, below.value)
        ctx.shapes = shared.shape, label.shape, None if weight is None else weight.shape
        ctx.relu = relu
        ctx.mark_non_differentiable(index, active, latent)
        return energy, active.sum(dim=-1), index, active, latent

    @staticmethod
    def backward(
        ctx: Any, grad_energy: Tensor, grad_activity: Tensor, *_: Tensor
    ) -> tuple[Tensor | None, ...]:
        index, active, candidates, below_index, below_value = ctx.saved_tensors
        shared_shape, label_shape, weight_shape = ctx.shapes
        places = _places(index)
        grad_drive = np.empty(places.shape, np.float32)
        grad_shared = torch.empty(shared_shape)
        compiled.differentiate(
            _array(candidates),
            places,
            _array(active),
            ctx.relu,
            _array(grad_energy),
            _array(grad_activity),
            grad_drive,
            _array(grad_shared),
        )
        flat = places.reshape(-1, places.shape[2]), grad_drive.reshape(-1, places.shape[2])
        grad_label = grad_weight = None
        if ctx.needs_input_grad[1]:
            keys = _places(candidates.clamp(min=0)).reshape(-1)
            order, start = compiled.sort_by(keys, label_shape[0])
            ones = np.ones(keys.size, np.float32)
            grad_label = torch.empty(label_shape)
            compiled.scatter_rows(order, start, 1, ones, *flat, _array(grad_label))
        if ctx.needs_input_grad[2]:
            keys = _places(below_index).reshape(-1)
            order, start = compiled.sort_by(keys, weight_shape[0])
            values = _array(below_value).reshape(-1)
            grad_weight = torch.empty(weight_shape)
            depth = below_index.shape[2]
            compiled.scatter_rows(order, start, depth, values, *flat, _array(grad_weight))
        return grad_shared, grad_label, grad_weight, None, None, None, None


def add_quadratic_gradient(
    grad: Tensor, curvature: Tensor, weight: Tensor, anchor: Tensor, offset: Tensor | None = None
) -> None:
    """Do `sffa.kernels.add_quadratic_gradient` for contiguous tensors of one shape on the CPU."""
    follow_torch()
    compiled.add_quadratic_gradient(
        _array(grad).reshape(-1),
        _array(curvature).reshape(-1),
        _array(weight).reshape(-1),
        _array(anchor).reshape(-1),
        np.empty(0, np.float32) if offset is None else _array(offset).reshape(-1),
        4 * numba.get_num_threads(),
    )


def warm_up() -> float:
    """Compile every loop now (or read it from numba's cache) and give the seconds it took."""
    started = time.perf_counter()
    kernel = NumbaKernel()
    candidates = torch.zeros(1, 1, dtype=torch.int64)
    for gate in (None, Gate(torch.tensor([[[0], [1]]]))):
        shared, label = torch.zeros(1, 2, requires_grad=True), torch.zeros(1, 2, requires_grad=True)
        weight = torch.zeros(2, 2, requires_grad=True)
        rule = Rule(1, "sigmoid", "unit")
        first = kernel.answer(shared, label, None, candidates, rule, gate)
        incoming = Incoming(first.latent, weight, gate)
        second = kernel.answer(shared, label, incoming, candidates, rule, gate)
        second.energy.sum().backward()  # type: ignore[no-untyped-call]
    add_quadratic_gradient(*torch.zeros(4, 1))
    return time.perf_counter() - started


def _pack(
    weight: np.ndarray[Any, Any], previous: Gate | None, gate: Gate, candidates: Tensor
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Copy the used labels' blocks of the weights, and say which row of it each neuron has."""
    labels, width = gate.own.shape[0], gate.own.shape[1] * gate.own.shape[2]
    if previous is None:  # every neuron of the previous layer may speak to every label
        rows = torch.arange(len(weight), dtype=torch.int32).expand(labels, -1)
    else:
        rows = previous.own.flatten(1).int()
    depth = rows.shape[1]
    local = torch.zeros(labels, weight.shape[0], dtype=torch.int32)
    local.scatter_(1, rows.long(), torch.arange(depth, dtype=torch.int32).expand(labels, depth))
    used = torch.zeros(labels, dtype=torch.bool)
    used[candidates.clamp(min=0).long().flatten()] = True
    packed = np.empty((labels, depth, width), np.float32)
    compiled.pack(weight, _places(rows), _places(gate.own.flatten(1).int()), _array(used), packed)
    return packed, _places(local)


def _blocks(half: int, k: int) -> int:
    """Choose into how many blocks a half is cut for the search of its k winners."""
    blocks = max(64, 32 * -(-2 * k // 32))
    return blocks if half >= 2 * blocks else half


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Show a tensor's memory to numba; copies only what is not contiguous."""
    array: np.ndarray[Any, Any] = tensor.detach().contiguous().numpy()
    return array


def _places(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Show int32 indices as unsigned ones."""
    return _array(tensor).view(np.uint32)


def start_threads() -> None:
    """Start numba's threads, which sets OpenMP's number of threads, and give torch its own back."""
    wanted = torch.get_num_threads()
    numba.set_num_threads(min(wanted, _MOST_THREADS))
    torch.set_num_threads(wanted)


def follow_torch() -> None:
    """Use as many threads as torch does."""
    threads = min(torch.get_num_threads(), _MOST_THREADS)
    numba.set_num_threads(threads)
    if threads > 1 and _second_team is None:
        stop_spinning()


_spinning = threading.Lock()
_second_team: threading.Thread | None = None


def stop_spinning() -> None:
    """Make torch's idle OpenMP threads sleep, so that they leave the cores to numba's threads.

    GNU's OpenMP lets idle threads spin for milliseconds after each parallel region, unless the
    process holds more OpenMP threads than there are cores. One thread that has run a parallel
    region of its own, and waits, makes it so; environment variables would only act before torch
    is imported. On two cores an SFFA step takes less than half the time for it.
    """
    global _second_team
    with _spinning:
        if _second_team is not None:
            return
        ready, never = threading.Event(), threading.Event()

        def hold_a_team() -> None:
            torch.zeros(1_000_000).add_(1)
            ready.set()
            never.wait()

        _second_team = threading.Thread(target=hold_a_team, name="sffa-openmp", daemon=True)
        _second_team.start()
        ready.wait()
