"""Questions to a kernel, drawn with every trouble that drives can make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from sffa import kernels
from sffa.kernels import Answer, Gate, Incoming, Rule, Winners


@dataclass(frozen=True)
class Case:
    """The shape and the troubles of one call."""

    half: int = 20
    k: int = 4
    batch: int = 3
    labels: int = 4
    depth: int | None = 10
    share: int | None = None
    activation: str = "sigmoid"
    norm: str = "unit"
    trouble: str = "none"
    missing: bool = False
    strided: bool = False
    seed: int = 0


@st.composite
def cases(draw: st.DrawFn) -> Case:
    half = draw(st.one_of(st.integers(1, 40), st.integers(90, 330)))
    share = draw(st.one_of(st.none(), st.integers(1, half)))
    room = half if share is None else share
    k = draw(st.one_of(st.integers(1, min(room, 20)), st.just(room), st.integers(1, room)))
    return Case(
        half=half,
        k=k,
        batch=draw(st.integers(1, 6)),
        labels=draw(st.integers(1, 6)),
        depth=draw(st.one_of(st.none(), st.integers(1, 30))),
        share=share,
        activation=draw(st.sampled_from(["sigmoid", "relu"])),
        norm=draw(st.sampled_from(["unit", "literal", "rms"])),
        trouble=draw(st.sampled_from(["none", "ties", "equal", "outlier", "tiny", "rest", "low"])),
        missing=draw(st.booleans()),
        strided=draw(st.booleans()),
        seed=draw(st.integers(0, 1000)),
    )


@dataclass(frozen=True)
class Question:
    """What a kernel is asked, with tensors that gradients flow to."""

    shared: Tensor
    label: Tensor
    weight: Tensor | None
    latent: Winners | None
    below: Gate | None
    gate: Gate | None
    candidates: Tensor
    rule: Rule

    @property
    def leaves(self) -> list[Tensor]:
        return [t for t in (self.shared, self.label, self.weight) if t is not None]

    def ask(self, kernel: kernels.Kernel) -> Answer:
        incoming = None
        if self.latent is not None and self.weight is not None:
            incoming = Incoming(self.latent, self.weight, self.below)
        return kernel.answer(
            self.shared, self.label, incoming, self.candidates, self.rule, self.gate
        )


def pose(case: Case) -> Question:
    """Draw the numbers of a case."""
    rng = np.random.default_rng(case.seed)
    width = 2 * case.half
    shared = rng.normal(size=(case.batch, width))
    label = rng.normal(size=(case.labels, width))
    if case.trouble == "ties":
        shared, label = shared.round(), label.round()
    elif case.trouble == "equal":
        shared[:], label[:] = 0.25, 0.5
    elif case.trouble == "outlier":
        shared[rng.integers(case.batch), rng.integers(width)] = 1e6
        shared[rng.integers(case.batch), rng.integers(width)] = -1e6
    elif case.trouble == "tiny":
        shared, label = shared * 1e-6, label * 1e-6
    elif case.trouble == "rest":
        shared, label = -np.abs(shared), -np.abs(label)
    elif case.trouble == "low":
        shared, label = shared - 30, label
    candidates = np.stack([rng.permutation(case.labels) for _ in range(case.batch)])
    candidates = candidates[:, : rng.integers(1, case.labels + 1)]
    if case.missing:
        candidates[rng.random(candidates.shape) < 0.4] = -1
    gate = below = latent = weight = None
    if case.share is not None:
        gate = draw_gate(rng, case.labels, case.half, case.share)
    if case.depth is not None:
        share = case.depth if case.share is None else max(1, case.depth // 2)
        if case.share is not None:
            below = draw_gate(rng, case.labels, case.depth, share)
        latent = draw_latent(rng, candidates, case.depth, below, max(1, min(5, share)))
        values = rng.normal(size=(2 * case.depth, width)) * (0.3 if case.trouble != "tiny" else 0)
        if case.trouble in ("ties", "equal", "rest", "low"):
            values = values * 0
        weight = leaf(values, case.strided)
    return Question(
        leaf(shared, case.strided),
        leaf(label, case.strided),
        weight,
        latent,
        below,
        gate,
        torch.tensor(candidates),
        Rule(case.k, case.activation, case.norm),  # type: ignore[arg-type]
    )


def draw_gate(rng: np.random.Generator, labels: int, half: int, share: int) -> Gate:
    own = [
        [np.sort(rng.choice(half, share, replace=False)) + side * half for side in range(2)]
        for _ in range(labels)
    ]
    return Gate(torch.tensor(np.array(own), dtype=torch.int32))


def draw_latent(
    rng: np.random.Generator, candidates: np.ndarray, half: int, gate: Gate | None, k: int
) -> Winners:
    """Return each example and candidate k distinct winners a half, the label's own when gated."""
    index = np.zeros((*candidates.shape, 2 * k), np.int64)
    for b, c in np.ndindex(*candidates.shape):
        for side in range(2):
            room = np.arange(half) + side * half
            if gate is not None:
                room = gate.own[max(candidates[b, c], 0), side].numpy()
            index[b, c, side * k : (side + 1) * k] = rng.choice(room, k, replace=False)
    value = rng.random(index.shape)
    return Winners(torch.tensor(index), torch.tensor(value, dtype=torch.float32))


def leaf(values: np.ndarray, strided: bool) -> Tensor:
    """Return a float32 tensor to differentiate by; ``strided`` ones are not contiguous."""
    tensor = torch.tensor(values, dtype=torch.float32)
    if strided:
        tensor = torch.stack([tensor, -tensor], dim=-1).transpose(0, 1).contiguous()
        tensor = tensor.transpose(0, 1)[..., 0]
        assert not tensor.is_contiguous() or tensor.numel() <= 1
    return tensor.requires_grad_()


def differentiate(question: Question, answer: Answer) -> list[Tensor]:
    """Return the gradients of a fixed mixture of what the loss looks at, where a label is."""
    valid = (question.candidates >= 0).float()
    rng = np.random.default_rng(9)
    by_energy = torch.tensor(rng.normal(size=answer.energy.shape), dtype=torch.float32)
    by_activity = torch.tensor(rng.normal(size=answer.activity.shape), dtype=torch.float32)
    mixture = (answer.energy * by_energy).sum(-1) + answer.activity * by_activity
    return list(torch.autograd.grad((mixture * valid).sum(), question.leaves))
