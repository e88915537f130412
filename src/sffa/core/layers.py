"""Forward-forward layers: weights in three blocks, and the response to an input under each label.

A layer sees [previous latent, image, code]. The image's part of a drive is the same for every
label and the code's part the same for every image, so each is one product per batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from sffa.core.config import NetworkConfig
from sffa.core.goodness import Energies, Goodness, SymmetricGoodness, ThresholdGoodness
from sffa.core.seeds import generator
from sffa.kernels import (
    Gate,
    Incoming,
    Kernel,
    Rule,
    Scaled,
    Winners,
    dense_answer,
    norm_factor,
)
from sffa.kernels.winners import TINY


class Response(NamedTuple):
    """What a layer answers, each tensor (batch, candidates) unless said otherwise.

    ``active`` holds the latents, detached: winners in SFFA, dense (batch, candidates, width) in
    FFA. ``latent`` is the same normalised, as the next layer sees it.
    """

    energies: Energies
    activity: Tensor
    active: Winners | Tensor
    latent: Winners | Scaled


class Layer(nn.Module, ABC):
    """Weights of one layer; ``gate`` is set by the network that owns it."""

    goodness: Goodness

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__()
        self.width = width
        self.gate: Gate | None = None
        self.activity_norm = config.activity_norm
        rng = generator(config.seed, "weights", number)
        bound = bounds(config, previous, code)

        def draw(block: str, *shape: int) -> nn.Parameter:
            return nn.Parameter(uniform(rng, bound[block], *shape))

        self.image = draw("image", config.inputs, width)
        self.code = draw("code", code, width)
        self.latent = draw("latent", previous, width) if previous else None
        self.bias = draw("bias", width)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        """Take the gate along when the layer is moved to another device."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.gate is not None:
            self.gate = Gate(fn(self.gate.own))
        return self

    @abstractmethod
    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """Answer each example (batch, inputs) under each of its candidate labels."""

    def _activity(self, total: Tensor, energies: Energies) -> Tensor:
        """Return the mean activity of each input: L1 as in the paper (eq. 3), or Euclidean."""
        if self.activity_norm == "l1":
            return total / self.width
        return (sum(energies, start=torch.zeros(())) / self.width + TINY).sqrt()


class SymmetricLayer(Layer):
    """SFFA: a positive and a negative half, in each the k most active neurons keep their value."""

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__(config, width, previous, code, number)
        self.rule = Rule(config.k, config.activation or "sigmoid", config.norm)
        self.goodness = SymmetricGoodness(config.epsilon, config.clamp, config.ranking)

    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """See `Layer.respond`. Winners are chosen on the drive: the activations are monotone.

        The bias goes with the labels' part, so that the images' part is a bare product.
        """
        incoming = None
        if below is not None and self.latent is not None:
            layer, latent = below
            assert isinstance(latent, Winners)
            incoming = Incoming(latent, self.latent, layer.gate)
        label = torch.addmm(self.bias, codes, self.code)
        answer = kernel.answer(x @ self.image, label, incoming, candidates, self.rule, self.gate)
        energies = answer.energy.unbind(dim=-1)
        activity = self._activity(answer.activity, energies)
        return Response(energies, activity, answer.active, answer.latent)


class ThresholdLayer(Layer):
    """FFA (Hinton 2022): every neuron counts, the energy against a threshold."""

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__(config, width, previous, code, number)
        self.norm = config.norm
        self.activation = config.activation or "relu"
        scale = 1 / width if config.scale == "mean" else config.scale
        self.goodness = ThresholdGoodness(config.theta, scale, config.ranking)

    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """See `Layer.respond`. Latents are dense, so this is torch on every device."""
        incoming = None
        if below is not None and self.latent is not None:
            latent = below[1]
            assert isinstance(latent, Scaled)
            incoming = latent, self.latent
        mask = None if self.gate is None else self.gate.mask(self.width)
        label = torch.addmm(self.bias, codes, self.code)
        answer = dense_answer(x @ self.image, label, incoming, candidates, self.activation, mask)
        energies = (answer.energy,)
        factor = norm_factor(answer.energy, self.width, self.norm)
        activity = self._activity(answer.activity, energies)
        return Response(energies, activity, answer.active, Scaled(answer.awake, factor))


def bounds(config: NetworkConfig, previous: int, code: int) -> dict[str, float]:
    """Return the bound of each block of weights before training.

    ``joint`` (the paper) has one for all, by the inputs of all blocks together, so that few
    features drown in the code. ``block`` (ours) gives every block a part of the drive that does not
    depend on the sizes of the others: the image's has a standard deviation of ``spread`` for
    standardised inputs, and the biases are spread as wide. Codes and latents, which learn what they
    are for, start small.
    """
    if config.init == "joint":
        bound = (previous + config.inputs + code) ** -0.5
        return dict.fromkeys(("image", "code", "latent", "bias"), bound)
    return {
        "image": config.spread * (3 / config.inputs) ** 0.5,
        "code": max(code, 1) ** -0.5,
        "latent": max(previous, 1) ** -0.5,
        "bias": config.spread,
    }


def uniform(rng: np.random.Generator, bound: float, *shape: int) -> Tensor:
    """Draw weights from the uniform distribution on (-bound, bound)."""
    return torch.from_numpy(rng.random(shape, dtype=np.float32) * (2 * bound) - bound).float()
