"""The torch backend: dense and plain, on any device. What the other backends are held against."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from sffa.kernels.winners import Answer, Gate, Incoming, Rule, Winners, norm_factor


class TorchKernel:
    """Builds every drive in full and asks `torch.topk` for the winners.

    >>> from sffa.kernels import Rule
    >>> shared, label = torch.randn(3, 8), torch.randn(2, 8)  # three examples, two labels, width 8
    >>> candidates = torch.tensor([[0, 1]] * 3)
    >>> answer = TorchKernel().answer(
    ...     shared, label, None, candidates, Rule(2, "sigmoid", "unit"), None
    ... )
    >>> tuple(answer.energy.shape), tuple(answer.active.index.shape)
    ((3, 2, 2), (3, 2, 4))
    """

    name = "torch"

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
        rows = candidates.clamp(min=0).long()
        drive = shared[:, None, :] + F.embedding(rows, label)
        if incoming is not None:
            latent = expand(incoming.latent, incoming.weight.shape[0]).detach()
            drive = drive + latent @ incoming.weight
        chosen = drive.detach()
        if gate is not None:
            chosen = chosen.masked_fill(~gate.mask(drive.shape[-1])[rows], -torch.inf)
        half = drive.shape[-1] // 2
        index = torch.cat(
            [
                chosen[..., :half].topk(rule.k, dim=-1).indices,
                chosen[..., half:].topk(rule.k, dim=-1).indices + half,
            ],
            dim=-1,
        )
        won = drive.gather(-1, index)
        active = torch.relu(won) if rule.activation == "relu" else torch.sigmoid(won)
        active = active * (candidates >= 0)[..., None]
        halves = active.view(*active.shape[:-1], 2, rule.k)
        energy = halves.square().sum(dim=-1)
        factor = norm_factor(energy, half, rule.norm)[..., None]
        return Answer(
            energy,
            active.sum(dim=-1),
            Winners(index, active.detach()),
            Winners(index, (halves.detach() * factor).flatten(-2)),
        )

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
        value = active.value
        to_active = 2 * value * to_energy.repeat_interleave(rule.k, dim=-1)
        if to_activity is not None:
            to_active = to_active + to_activity[..., None]
        slope = value > 0 if rule.activation == "relu" else value * (1 - value)
        delta = expand(Winners(active.index, to_active * slope), width)
        chosen = F.one_hot(candidates.clamp(min=0).long().flatten(), labels).to(delta.dtype)
        flat = delta.flatten(0, 1)
        if incoming is not None:
            latent = expand(incoming.latent, len(incoming.weight)).flatten(0, 1)
            to_weight = torch.mm(latent.t(), flat, out=to_weight)
        return delta.sum(dim=1), chosen.t() @ flat, to_weight


def expand(winners: Winners, width: int) -> Tensor:
    """Write winners out as dense vectors (batch, candidates, width), zero elsewhere.

    >>> from sffa.kernels import Winners
    >>> index, value = torch.tensor([[[0, 3]]]), torch.tensor([[[0.5, 0.25]]])
    >>> expand(Winners(index, value), width=4).shape
    torch.Size([1, 1, 4])
    """
    dense = winners.value.new_zeros(*winners.value.shape[:-1], width)
    return dense.scatter_(-1, winners.index.long(), winners.value)
