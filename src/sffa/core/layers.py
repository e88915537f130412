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
    dense_gradients,
    expand,
    norm_factor,
)
from sffa.kernels.products import product
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

    @abstractmethod
    def gradients(
        self,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        response: Response,
        labels: int,
        slopes: tuple[Tensor, Tensor | None],
        kernel: Kernel,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the gradients of the images' part of the drive, the labels' and ``latent``.

        ``slopes`` are the derivatives of a loss by the energies and the activity of ``response``.
        """

    @abstractmethod
    def latents(self, response: Response) -> Tensor:
        """Return what the next layer sees, dense (batch, candidates, width)."""

    def set_gradients(
        self,
        x: Tensor,
        codes: Tensor,
        to_shared: Tensor,
        to_label: Tensor,
        to_latent: Tensor | None,
    ) -> None:
        """Set every parameter's ``grad`` from what `gradients` returned."""
        product(x.t(), to_shared, out=gradient_of(self.image))
        torch.mm(codes.t(), to_label, out=gradient_of(self.code))
        torch.sum(to_label, dim=0, out=gradient_of(self.bias))
        if self.latent is not None:
            self.latent.grad = to_latent

    def _drive(self, x: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the images' part of the drive, a bare product, and the labels', with the bias."""
        shared = product(x, self.image)
        return shared, torch.addmm(self.bias, codes, self.code)

    def _activity(self, total: Tensor, energies: Energies) -> Tensor:
        """Return the mean activity of each input: L1 as in the paper (eq. 3), or Euclidean."""
        if self.activity_norm == "l1":
            return total / self.width
        return (sum(energies, start=torch.zeros(())) / self.width + TINY).sqrt()


class SymmetricLayer(Layer):
    """SFFA: a positive and a negative half, in each the k most active neurons keep their value."""

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__(config, width, previous, code, number)
        self.rule = Rule(config.k, config.activation, config.norm)
        self.goodness = SymmetricGoodness(config.epsilon, config.clamp, config.ranking)

    def respond(
        self,
        x: Tensor,
        codes: Tensor,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        kernel: Kernel,
    ) -> Response:
        """See `Layer.respond`. Winners are chosen on the drive: the activations are monotone."""
        shared, label = self._drive(x, codes)
        below_it = self._incoming(below)
        answer = kernel.answer(shared, label, below_it, candidates, self.rule, self.gate)
        energies = answer.energy.unbind(dim=-1)
        activity = self._activity(answer.activity, energies)
        return Response(energies, activity, answer.active, answer.latent)

    def gradients(
        self,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        response: Response,
        labels: int,
        slopes: tuple[Tensor, Tensor | None],
        kernel: Kernel,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """See `Layer.gradients`."""
        assert isinstance(response.active, Winners)
        given = self._incoming(below), candidates, self.rule, (labels, self.width), *slopes
        out = None if self.latent is None else gradient_of(self.latent)
        return kernel.gradients(response.active, *given, out)

    def latents(self, response: Response) -> Tensor:
        """See `Layer.latents`."""
        assert isinstance(response.latent, Winners)
        return expand(response.latent, self.width)

    def _incoming(self, below: tuple[Layer, Winners | Scaled] | None) -> Incoming | None:
        if below is None or self.latent is None:
            return None
        layer, latent = below
        assert isinstance(latent, Winners)
        return Incoming(latent, self.latent, layer.gate)


class ThresholdLayer(Layer):
    """FFA (Hinton 2022): every neuron counts, the energy against a threshold."""

    def __init__(self, config: NetworkConfig, width: int, previous: int, code: int, number: int):
        super().__init__(config, width, previous, code, number)
        self.norm = config.norm
        self.activation = config.activation
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
        """See `Layer.respond`. Products are torch's; with numba, loops where few are awake."""
        mask = None if self.gate is None else self.gate.mask(self.width)
        shared, label = self._drive(x, codes)
        below_it = self._incoming(below)
        given = shared, label, below_it, candidates, self.activation, mask
        answer = dense_answer(*given, compiled=kernel.name == "numba")
        energies = (answer.energy,)
        factor = norm_factor(answer.energy, self.width, self.norm)
        activity = self._activity(answer.activity, energies)
        return Response(energies, activity, answer.active, Scaled(answer.awake, factor))

    def gradients(
        self,
        below: tuple[Layer, Winners | Scaled] | None,
        candidates: Tensor,
        response: Response,
        labels: int,
        slopes: tuple[Tensor, Tensor | None],
        kernel: Kernel,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """See `Layer.gradients`."""
        assert isinstance(response.latent, Scaled)
        to_energy, to_activity = slopes
        given = self._incoming(below), candidates, self.activation, (labels, self.width)
        return dense_gradients(response.latent.latents, *given, to_energy.squeeze(-1), to_activity)

    def latents(self, response: Response) -> Tensor:
        """See `Layer.latents`."""
        assert isinstance(response.latent, Scaled)
        assert isinstance(response.active, Tensor)
        return response.active * response.latent.factor[..., None]

    def _incoming(
        self, below: tuple[Layer, Winners | Scaled] | None
    ) -> tuple[Scaled, Tensor] | None:
        if below is None or self.latent is None:
            return None
        assert isinstance(below[1], Scaled)
        return below[1], self.latent


def gradient_of(parameter: nn.Parameter) -> Tensor:
    """Return a parameter's ``grad``, to be filled: that of the last step, if it fits."""
    grad = parameter.grad
    if grad is None or grad.shape != parameter.shape or not grad.is_contiguous():
        grad = parameter.grad = torch.empty_like(parameter, requires_grad=False)
    return grad


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
