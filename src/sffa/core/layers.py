"""Forward-forward layers: weights in three blocks, and the response to an input under each label.

A layer sees [previous latent, image, code]. The image's part of a drive is the same for every
label and the code's part the same for every image, so each is one product per batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sffa.core.config import NetworkConfig
from sffa.core.goodness import Energies, Goodness, SymmetricGoodness, ThresholdGoodness
from sffa.core.seeds import generator
from sffa.kernels import Gate, Incoming, Kernel, Winners

_TINY = 1e-12


class Response(NamedTuple):
    """What a layer answers, each tensor (batch, candidates) unless said otherwise.

    ``latent`` is what the next layer sees, normalised and detached: winners in SFFA, dense
    (batch, candidates, width) in FFA. ``active`` is the same before normalisation.
    """

    energies: Energies
    activity: Tensor
    active: Winners | Tensor
    latent: Winners | Tensor


class Layer(nn.Module, ABC):
    """Weights of one layer; ``gate`` is set by the network that owns it."""

    goodness: Goodness

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__()
        self.width = width
        self.gate: Gate | None = None
        self.norm = config.norm
        self.activity_norm = config.activity_norm
        self.activation = torch.relu if config.activation == "relu" else torch.sigmoid
        rng = generator(config.seed, "weights", number)
        bound = (previous + config.inputs + code) ** -0.5

        def draw(*shape: int) -> nn.Parameter:
            return nn.Parameter(uniform(rng, bound, *shape))

        self.image = draw(config.inputs, width)
        self.code = draw(code, width)
        self.latent = draw(previous, width) if previous else None
        self.bias = draw(width)

    @abstractmethod
    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Tensor] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """Answer each example (batch, inputs) under each of its candidate labels."""

    def _activity(self, active: Tensor, energies: Energies) -> Tensor:
        """Give the mean activity of each input: L1 as in the paper's loss (eq. 4), or Euclidean."""
        if self.activity_norm == "l1":
            return active.sum(dim=-1) / self.width
        return (sum(energies, start=torch.zeros(())) / self.width + _TINY).sqrt()

    def _norm_factor(self, energy: Tensor, neurons: int) -> Tensor:
        """Give what a polarity's latents are multiplied by before the next layer sees them.

        The paper prints a division by the squared norm (eq. 2), which does not lead to the
        goodness of one half that it asks for; that is ``literal``.
        """
        safe = energy.detach().clamp(min=_TINY)
        if self.norm == "literal":
            return safe.reciprocal()
        factor = safe.rsqrt()
        return factor * neurons**0.5 if self.norm == "rms" else factor


class SymmetricLayer(Layer):
    """SFFA: a positive and a negative half, in each the k most active neurons keep their value."""

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__(config, width, previous, code, number)
        self.k = config.k
        self.goodness = SymmetricGoodness(config.epsilon, config.clamp)

    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Tensor] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """See `Layer.respond`. Winners are chosen on the drive: the activations are monotone."""
        shared = torch.addmm(self.bias, x, self.image)
        incoming = None
        if below is not None and self.latent is not None:
            layer, latent = below
            assert isinstance(latent, Winners)
            incoming = Incoming(latent, self.latent, layer.gate)
        won = kernel.winners(shared, codes @ self.code, incoming, candidates, self.k, self.gate)
        active = self.activation(won.value)
        halves = active.view(*active.shape[:-1], 2, self.k)
        energy = halves.square().sum(dim=-1)
        energies = energy.unbind(dim=-1)
        factor = self._norm_factor(energy, self.width // 2)
        latent = Winners(won.index, (halves.detach() * factor[..., None]).flatten(-2))
        activity = self._activity(active, energies)
        return Response(energies, activity, Winners(won.index, active), latent)


class ThresholdLayer(Layer):
    """FFA (Hinton 2022): every neuron counts, the energy against a threshold."""

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__(config, width, previous, code, number)
        scale = 1 / width if config.scale == "mean" else config.scale
        self.goodness = ThresholdGoodness(config.theta, scale)

    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Tensor] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """See `Layer.respond`. Latents are dense, so this is torch on every device."""
        rows = candidates.clamp(min=0)
        drive = torch.addmm(self.bias, x, self.image)[:, None, :] + (codes @ self.code)[rows]
        if below is not None and self.latent is not None:
            latent = below[1]
            assert isinstance(latent, Tensor)
            drive = drive + latent @ self.latent
        active = self.activation(drive)
        if self.gate is not None:
            active = active * self.gate.mask(self.width)[rows]
        energies = (active.square().sum(dim=-1),)
        factor = self._norm_factor(energies[0], self.width)
        normal = active.detach() * factor[..., None]
        return Response(energies, self._activity(active, energies), active, normal)


def uniform(rng: np.random.Generator, bound: float, *shape: int) -> Tensor:
    """Draw weights from the uniform distribution on (-bound, bound)."""
    return torch.from_numpy(rng.random(shape, dtype=np.float32) * (2 * bound) - bound).float()
