"""The torch backend: dense and plain, on any device. What the other backends are held against."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.kernels.winners import Gate, Incoming, Winners


class TorchKernel:
    """Builds every drive in full and asks `torch.topk` for the winners."""

    name = "torch"

    def winners(
        self,
        shared: Tensor,
        label: Tensor,
        incoming: Incoming | None,
        candidates: Tensor,
        k: int,
        gate: Gate | None,
    ) -> Winners:
        """See `sffa.kernels.winners.Kernel.winners`."""
        rows = candidates.clamp(min=0)
        drive = shared[:, None, :] + label[rows]
        if incoming is not None:
            drive = drive + expand(incoming.latent, incoming.weight.shape[0]) @ incoming.weight
        chosen = drive.detach()
        if gate is not None:
            chosen = chosen.masked_fill(~gate.mask(drive.shape[-1])[rows], -torch.inf)
        half = drive.shape[-1] // 2
        index = torch.cat(
            [
                chosen[..., :half].topk(k, dim=-1).indices,
                chosen[..., half:].topk(k, dim=-1).indices + half,
            ],
            dim=-1,
        )
        return Winners(index, drive.gather(-1, index))


def expand(winners: Winners, width: int) -> Tensor:
    """Write winners out as dense vectors (batch, candidates, width), zero elsewhere."""
    dense = winners.value.new_zeros(*winners.value.shape[:-1], width)
    return dense.scatter_(-1, winners.index.long(), winners.value)
