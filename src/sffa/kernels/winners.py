"""What a kernel is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Winners:
    """The neurons that stay active for each example and candidate label, positive half first.

    ``index`` and ``value`` are (batch, candidates, 2k). What the value is (a drive, a latent) is
    the caller's to know. A candidate of -1 (no label) has winners that mean nothing.
    """

    index: Tensor
    value: Tensor


@dataclass(frozen=True)
class Gate:
    """Which neurons each label may use: ``own`` (labels, polarities, share), ascending."""

    own: Tensor

    def mask(self, width: int) -> Tensor:
        """Give (labels, width), true where the neuron is the label's own."""
        flat = self.own.flatten(1).long()
        mask = torch.zeros(flat.shape[0], width, dtype=torch.bool, device=flat.device)
        return mask.scatter_(1, flat, True)


@dataclass(frozen=True)
class Incoming:
    """The previous layer's part of a drive: its latents, their weights and the gate they obey."""

    latent: Winners
    weight: Tensor
    gate: Gate | None


class Kernel(Protocol):
    """The arithmetic behind an SFFA layer. Backends agree on values and gradients."""

    name: str

    def winners(
        self,
        shared: Tensor,
        label: Tensor,
        incoming: Incoming | None,
        candidates: Tensor,
        k: int,
        gate: Gate | None,
    ) -> Winners:
        """Find the k largest drives of each half, for each example and candidate label.

        The drive of example b and label y is ``shared[b] + label[y] + latent[b, y] @ weight``,
        with ``shared`` (batch, width) and ``label`` (labels, width); ``candidates`` is (batch,
        candidates), the label of each column or -1 for none. Gradients flow to ``shared``,
        ``label`` and ``weight`` and never to the latent.
        """
        ...
