"""The contract of a kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sffa.kernels import Answer, Gate, Incoming, Kernel, Rule, TorchKernel, Winners
from sffa.testing.toy import close

_BATCH, _LABELS, _WIDTH, _K = 7, 4, 40, 3


def check_backend(kernel: Kernel, *, seeds: int = 5) -> None:
    """Check a kernel against the reference, to 1e-5 on values and gradients.

    Drives, activations, norms, gates and candidates of -1 are drawn from ``seeds`` seeds.

    >>> from sffa.kernels import TorchKernel
    >>> check_backend(TorchKernel(), seeds=1)
    """
    for seed in range(seeds):
        for activation in ("sigmoid", "relu"):
            for norm in ("unit", "literal", "rms"):
                for gated in (False, True):
                    where = f"seed {seed}, {activation}, {norm}, {'gated' if gated else 'no gate'}"
                    _compare(kernel, where, seed, Rule(_K, activation, norm), gated)


def _compare(kernel: Kernel, where: str, seed: int, rule: Rule, gated: bool) -> None:
    ours, our_leaves = _ask(kernel, seed, rule, gated)
    wanted, leaves = _ask(TorchKernel(), seed, rule, gated)
    valid = _candidates(np.random.default_rng(seed)) >= 0
    for name in ("energy", "activity"):
        found, right = getattr(ours.answer, name)[valid], getattr(wanted.answer, name)[valid]
        assert close(found, right, 1e-5), f"{where}: {name} differs"
    for name in ("active", "latent"):
        found, right = (_dense(getattr(asked.answer, name))[valid] for asked in (ours, wanted))
        assert close(found, right, 1e-5), f"{where}: {name} differs"
    for number, (found, right) in enumerate(zip(our_leaves, leaves, strict=True)):
        assert found.grad is not None, f"{where}: no gradient of argument {number}"
        assert right.grad is not None
        same = close(found.grad, right.grad, 1e-5)
        assert same, f"{where}: the gradient of argument {number} differs"
    for number, (found, right) in enumerate(zip(ours.gradients, leaves, strict=True)):
        assert right.grad is not None
        same = close(found, right.grad, 1e-5)
        assert same, f"{where}: the gradient without a graph of argument {number} differs"


class _Asked(NamedTuple):
    """What a kernel answers, and its gradients without a graph."""

    answer: Answer
    gradients: tuple[Tensor, ...]


def _ask(kernel: Kernel, seed: int, rule: Rule, gated: bool) -> tuple[_Asked, list[Tensor]]:
    rng = np.random.default_rng(seed)
    candidates = _candidates(rng)
    leaves = [
        torch.tensor(rng.normal(size=shape), dtype=torch.float32, requires_grad=True)
        for shape in ((_BATCH, _WIDTH), (_LABELS, _WIDTH), (_WIDTH, _WIDTH))
    ]
    shape = (*candidates.shape, 2 * _K)
    halves = [
        rng.random((*candidates.shape, _WIDTH // 2)).argsort(-1)[..., :_K] + side * _WIDTH // 2
        for side in (0, 1)
    ]
    index = torch.from_numpy(np.concatenate(halves, axis=-1).astype(np.int32))
    latent = Winners(index, torch.from_numpy(rng.random(shape, dtype=np.float32)))
    gate = _gate(rng) if gated else None
    incoming = Incoming(latent, leaves[2], None)
    answer = kernel.answer(leaves[0], leaves[1], incoming, candidates, rule, gate)
    weights = torch.from_numpy(rng.random(answer.energy.shape, dtype=np.float32))
    valid = (candidates >= 0).float()
    loss = (answer.energy * weights * valid[..., None]).sum() + (answer.activity * valid).sum()
    loss.backward()  # type: ignore[no-untyped-call]
    slopes = weights * valid[..., None], valid
    given = incoming, candidates, rule, (_LABELS, _WIDTH)
    with torch.no_grad():
        found = kernel.gradients(answer.active, *given, *slopes)
    return _Asked(answer, tuple(each for each in found if each is not None)), leaves


def _candidates(rng: np.random.Generator) -> Tensor:
    rows: Any = np.stack([rng.permutation(_LABELS) for _ in range(_BATCH)])
    rows[0, -1] = -1
    return torch.from_numpy(rows[:, :3].astype(np.int64))


def _gate(rng: np.random.Generator) -> Gate:
    half = _WIDTH // 2
    own = [
        [np.sort(rng.choice(half, half // 2, replace=False)) + side * half for side in (0, 1)]
        for _ in range(_LABELS)
    ]
    return Gate(torch.from_numpy(np.array(own, np.int32)))


def _dense(winners: Winners) -> Tensor:
    shape = (*winners.index.shape[:2], _WIDTH)
    return torch.zeros(shape).scatter_(2, winners.index.long(), winners.value.detach())
