"""Gradients and energies of an SFFA network on a CPU, in compiled loops.

What a batch needs of memory is kept for the next one of its size.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from sffa.core.config import NetworkConfig
from sffa.core.goodness import Energies, SymmetricGoodness
from sffa.core.layers import Layer, SymmetricLayer, gradient_of
from sffa.kernels import compiled_loss
from sffa.kernels.compiled_loss import LossOptions
from sffa.kernels.layer_pass import Below, LayerPass
from sffa.kernels.products import product
from sffa.kernels.winners import Winners

if TYPE_CHECKING:
    from sffa.core.network import Network

_TERMS = {
    "none": compiled_loss.NO_TERM,
    "multiply": compiled_loss.MULTIPLY,
    "add": compiled_loss.ADD,
}
_NO_WEIGHTS = np.empty(0, np.float32)
_KEPT = 2  # sizes of a batch whose memory is kept: that of training and that of prediction


class CompiledStep:
    """The passes of a network's layers for one size of batch.

    ``below`` is what the first of them sees of a layer that is not among them: `see` sets it.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        labels: int,
        batch: int,
        candidates: int,
        below: Below | None = None,
    ) -> None:
        self.candidates = torch.empty(batch, candidates, dtype=torch.int32)
        self._asked: tuple[Tensor, int] | None = None  # whose candidates these are
        self.passes: list[LayerPass] = []
        self.right = np.empty(batch, np.int64)
        if below is not None:
            empty = torch.empty_like(below.latent.index, dtype=torch.int32)
            below = Below(Winners(empty, torch.empty(empty.shape)), below.gate)
        self.below = below
        for layer in layers:
            drive = torch.empty(batch, layer.width), torch.empty(labels, layer.width)
            rule = cast(SymmetricLayer, layer).rule
            made = LayerPass(*drive, self.candidates, rule, layer.gate, below)
            below = Below(made.latent, layer.gate)
            self.passes.append(made)

    def see(self, latent: Winners) -> None:
        """Set the latents of the layer below the first."""
        assert self.below is not None
        self.below.latent.index.copy_(latent.index)
        self.below.latent.value.copy_(latent.value)

    def forward(
        self, layers: Sequence[Layer], x: Tensor, codes: Tensor, candidates: Tensor
    ) -> None:
        """Let the layers answer, from the first on."""
        now = candidates, candidates._version
        if self._asked is None or self._asked[0] is not candidates or self._asked[1] != now[1]:
            self.candidates.copy_(candidates)
            self._asked = now
        for layer, made in zip(layers, self.passes, strict=False):
            product(x, layer.image, out=made.shared)
            made.fill_label(codes, layer.code, layer.bias)
            made.scan(layer.latent)

    def aims(self, column: Tensor, weight: Tensor | None) -> tuple[Any, ...] | None:
        """Return what a batch asks of every layer; None if a label is not among its candidates."""
        counts = _NO_WEIGHTS if weight is None else weight.float().contiguous().numpy()
        asked = self.candidates.numpy()
        sums = compiled_loss.find_right(asked, column.contiguous().numpy(), counts, self.right)
        return None if sums[0] < 0 else (asked, self.right, counts, sums)

    def backward(
        self, config: NetworkConfig, layer: Layer, number: int, x: Tensor, codes: Tensor, aims: Any
    ) -> float:
        """Set the gradients of a layer's parameters and return its loss."""
        made = self.passes[number]
        loss = made.loss(aims, _options(config, cast(SymmetricGoodness, layer.goodness)))
        weight = layer.latent
        made.gradients.run(None if weight is None else gradient_of(weight))
        made.gradients.fill_label(codes, gradient_of(layer.code), gradient_of(layer.bias))
        product(x.t(), made.gradients.to_shared, out=gradient_of(layer.image))
        return loss


class _Kept(threading.local):
    """What was made for the networks of this thread."""

    def __init__(self) -> None:
        self.steps: WeakKeyDictionary[torch.nn.Module, dict[Any, CompiledStep]]
        self.steps = WeakKeyDictionary()


_kept = _Kept()


def step_for(
    network: torch.nn.Module,
    layers: Sequence[Layer],
    labels: int,
    candidates: Tensor,
    below: Below | None = None,
) -> CompiledStep:
    """Return the passes for a network and a size of batch, kept or made."""
    gates = tuple(id(layer.gate) for layer in layers)
    widths = tuple(layer.width for layer in layers)
    seen = None if below is None else (id(below.gate), below.latent.index.shape)
    key = labels, tuple(candidates.shape), widths, gates, seen
    known = _kept.steps.setdefault(network, {})
    batch, asked = candidates.shape
    step = known.pop(key, None) or CompiledStep(layers, labels, batch, asked, below)
    if below is not None:
        step.see(below.latent)
    while len(known) >= _KEPT:
        del known[next(iter(known))]
    known[key] = step
    return step


def respond(
    network: Network, number: int, x: Tensor, candidates: Tensor, below: Winners | None
) -> tuple[Energies, Winners]:
    """See `Network.respond`: energies and latents of one layer."""
    layer = network.stack[number]
    seen = None if below is None else Below(below, network.stack[number - 1].gate)
    step = step_for(network, [layer], len(network.codes), candidates, seen)
    step.forward([layer], x, network.codes, candidates)
    return step.passes[0].energy.unbind(dim=-1), step.passes[0].latent


def energies(network: Network, x: Tensor, candidates: Tensor) -> list[Energies]:
    """Return every layer's energies."""
    step = step_for(network, network.stack, len(network.codes), candidates)
    step.forward(network.stack, x, network.codes, candidates)
    return [made.energy.unbind(dim=-1) for made in step.passes]


def set_gradients(
    network: Network,
    x: Tensor,
    column: Tensor,
    candidates: Tensor,
    layer: int | None,
    weight: Tensor | None,
    known: Winners | None,
) -> Tensor:
    """Set the gradients of the layers, or of one, and return the sum of their losses."""
    layers = network.stack if layer is None else network.stack[: layer + 1]
    below = None
    if known is not None and layer:
        layers = layers[-1:]
        below = Below(known.under(candidates), network.stack[layer - 1].gate)
    step = step_for(network, layers, len(network.codes), candidates, below)
    step.forward(layers, x, network.codes, candidates)
    aims = step.aims(column, weight)
    if aims is None:
        network.targets(column, candidates)  # says which label is not among its candidates
    trained = range(len(layers)) if layer is None else [len(layers) - 1]
    given = x, network.codes, aims
    losses = (step.backward(network.config, layers[i], i, *given) for i in trained)
    return torch.tensor(sum(losses))


def _options(config: NetworkConfig, goodness: SymmetricGoodness) -> LossOptions:
    return LossOptions(
        config.objective == "contrast",
        config.temperature,
        goodness.epsilon,
        goodness.clamp,
        _TERMS[config.activity],
        config.alpha,
        config.activity_norm == "l1",
    )
