"""The label scan of a trained network as a plain module, for programs that know nothing of sffa."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sffa.core import Backprop, Learner, Network
from sffa.core.layers import Layer
from sffa.errors import ConfigurationError, ModelFileError
from sffa.kernels.winners import TINY

_NEVER = -1e30


class LabelScan(nn.Module):
    """(batch, inputs) to the scores (batch, classes) and the best class (batch,).

    What does not depend on the input is computed beforehand: each label's part of a drive, with
    the bias. Input is what `Network.scores` takes as floating point numbers.
    """

    offset: Tensor
    factor: Tensor
    classes: Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        require_trained(network)
        self.register_buffer("offset", -network.mean / network.std)
        self.register_buffer("factor", 1 / network.std)
        self.register_buffer("classes", torch.tensor(network.classes))
        kind = _Symmetric if network.config.algorithm == "sffa" else _Threshold
        self.layers = nn.ModuleList([kind(network, layer) for layer in network.stack])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scan every label."""
        x = x * self.factor + self.offset
        latent: Tensor | None = None
        scores = []
        for layer in self.layers:
            score, latent = layer(x, latent)
            scores.append(score)
        mean = torch.stack(scores).mean(dim=0)
        return mean, self.classes[mean.argmax(dim=1)]


def exact_sigmoid(drive: Tensor) -> Tensor:
    """Return 1 / (1 + exp(−z)) by its formula: goodness is a ratio of energies however small.

    Runtimes approximate their sigmoid to an absolute error, which at rest is larger than it.
    """
    return 1 / (1 + torch.exp(-drive))


class _FrozenLayer(nn.Module):
    """Weights of a layer: ``image`` (inputs, width), ``label`` (classes, width), ``latent``."""

    image: Tensor
    label: Tensor
    latent: Tensor | None
    allowed: Tensor | None

    def __init__(self, network: Network, layer: Layer) -> None:
        super().__init__()
        self.norm = network.config.norm
        self.activation = torch.relu if network.config.activation == "relu" else exact_sigmoid
        self.width = layer.width
        codes = network.codes
        self.register_buffer("image", layer.image.detach().clone())
        self.register_buffer("label", torch.addmm(layer.bias, codes, layer.code).detach())
        latent = None if layer.latent is None else layer.latent.detach().clone()
        self.register_buffer("latent", latent)
        allowed = None if layer.gate is None else layer.gate.mask(layer.width)
        self.register_buffer("allowed", allowed)

    def drive(self, x: Tensor, below: Tensor | None) -> Tensor:
        """Return the drive (batch, classes, width)."""
        drive = (x @ self.image)[:, None, :] + self.label
        if below is None or self.latent is None:
            return drive
        return drive + below @ self.latent

    def normal(self, active: Tensor, energy: Tensor, neurons: int) -> Tensor:
        """Divide latents (batch, classes, n) by what their energy (batch, classes, 1) says."""
        safe = energy.clamp(min=TINY)
        if self.norm == "literal":
            return active / safe
        return active / safe.sqrt() * (neurons**0.5 if self.norm == "rms" else 1.0)


class _Symmetric(_FrozenLayer):
    """SFFA: k winners in each half; the positive share of the energy."""

    silence: Tensor

    def __init__(self, network: Network, layer: Layer) -> None:
        super().__init__(network, layer)
        self.k = network.config.k
        self.epsilon = network.config.epsilon
        if self.allowed is not None:
            self.register_buffer("silence", torch.where(self.allowed, 0.0, _NEVER))

    def forward(self, x: Tensor, below: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the goodness (batch, classes) and the latent (batch, classes, width)."""
        drive = self.drive(x, below)
        if self.allowed is not None:
            drive = drive + self.silence
        half = self.width // 2
        energies, latents = [], []
        for part in (drive[..., :half], drive[..., half:]):
            won, index = part.topk(self.k, dim=-1)
            active = self.activation(won)
            energy = active.square().sum(dim=-1, keepdim=True)
            normal = self.normal(active, energy, half)
            latents.append(torch.zeros_like(part).scatter(-1, index, normal))
            energies.append(energy.squeeze(-1) + self.epsilon)
        goodness = energies[0] / (energies[0] + energies[1])
        return goodness, torch.cat(latents, dim=-1)


class _Threshold(_FrozenLayer):
    """FFA: every neuron counts; the scaled energy, or its probability."""

    def __init__(self, network: Network, layer: Layer) -> None:
        super().__init__(network, layer)
        self.score = layer.goodness.score

    def forward(self, x: Tensor, below: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the score (batch, classes) and the latent (batch, classes, width)."""
        active = self.activation(self.drive(x, below))
        if self.allowed is not None:
            active = active * self.allowed
        energy = active.square().sum(dim=-1, keepdim=True)
        return self.score((energy.squeeze(-1),)), self.normal(active, energy, self.width)


class Perceptron(nn.Module):
    """The back-propagation baseline in the same form."""

    offset: Tensor
    factor: Tensor
    classes: Tensor

    def __init__(self, learner: Backprop) -> None:
        super().__init__()
        require_trained(learner)
        if "all" not in learner.heads:
            raise ConfigurationError(
                "this network has one head a task, so its classes do not compete: "
                "only networks that were not told the task can be exported"
            )
        self.register_buffer("offset", -learner.mean / learner.std)
        self.register_buffer("factor", 1 / learner.std)
        self.register_buffer("classes", torch.tensor(learner.classes))
        self.body, self.head = learner.body, learner.heads["all"]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (batch, classes) and the best class (batch,)."""
        logits = self.head(self.body(x * self.factor + self.offset))
        return logits, self.classes[logits.argmax(dim=1)]


def plain(learner: Learner) -> nn.Module:
    """Return what a learner computes as a module of torch alone, on the CPU, ready to export."""
    assert isinstance(learner, Network | Backprop)
    module = LabelScan(learner) if isinstance(learner, Network) else Perceptron(learner)
    return module.cpu().eval().requires_grad_(False)


def program(learner: Learner) -> torch.export.ExportedProgram:
    """Export with `torch.export`, the batch size free."""
    example = torch.zeros(2, learner.inputs)
    batch = torch.export.Dim("batch", min=1)
    return torch.export.export(plain(learner), (example,), dynamic_shapes=({0: batch},))


def require_trained(learner: Learner) -> None:
    """Refuse a network that has met no class: there is nothing to scan."""
    if not learner.classes:
        raise ModelFileError("the network has met no class yet: train it before you export it")
