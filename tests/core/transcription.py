"""The definition, written out slowly: one label, one example, one layer at a time, in float64.

Nothing here is shared with the library. A layer sees the concatenated [latent, image, code]; every
drive is one dense product; the gradients are derived by hand. Only numbers are taken from a
network: its weights, codes, gates and options.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sffa import Network

Vector = np.ndarray
TINY = 1e-12


@dataclass
class Look:
    """What one layer makes of one example under one label."""

    input: Vector
    drive: Vector
    active: Vector
    energies: list[float]
    activity: float
    latent: Vector
    margin: float


@dataclass
class Layer:
    """One dense matrix of weights (latent, image and code rows, in that order) and its biases."""

    weight: Vector
    bias: Vector
    own: list[list[list[int]]] | None


@dataclass
class Gradient:
    """How the loss changes with a layer's weights and biases."""

    weight: Vector
    bias: Vector


@dataclass
class Transcription:
    """A network's numbers, as float64, with the formulas that use them."""

    net: Network
    layers: list[Layer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.config = self.net.config
        self.codes = self.net.codes.double().numpy()
        for layer in self.net.layers:
            blocks = [layer.latent, layer.image, layer.code]
            weight = [b.detach().double().numpy() for b in blocks if b is not None]
            own = None if layer.gate is None else layer.gate.own.tolist()
            self.layers.append(
                Layer(np.concatenate(weight), layer.bias.detach().double().numpy(), own)
            )

    def look(self, image: Vector, label: int) -> list[Look]:
        """Pass one example with one label through all layers."""
        looks: list[Look] = []
        latent = np.zeros(0)
        for layer in self.layers:
            seen = np.concatenate([latent, image, self.codes[label]])
            looks.append(self.respond(layer, seen, label))
            latent = looks[-1].latent
        return looks

    def respond(self, layer: Layer, seen: Vector, label: int) -> Look:
        """Return one layer's answer to what it sees."""
        config = self.config
        width = len(layer.bias)
        drive = seen @ layer.weight + layer.bias
        value = np.maximum(drive, 0) if config.activation == "relu" else 1 / (1 + np.exp(-drive))
        halves = 2 if config.algorithm == "sffa" else 1
        active, latent = np.zeros(width), np.zeros(width)
        energies, margin = [], np.inf
        for half in range(halves):
            neurons = list(range(half * width // halves, (half + 1) * width // halves))
            if layer.own is not None:
                neurons = layer.own[label][half]
            if config.algorithm == "sffa":
                ranked = sorted(neurons, key=lambda j: -drive[j])
                neurons, losers = ranked[: config.k], ranked[config.k :]
                if losers:
                    margin = min(margin, drive[neurons[-1]] - drive[losers[0]])
            for j in neurons:
                active[j] = value[j]
            energy = sum(active[j] ** 2 for j in neurons)
            for j in neurons:
                latent[j] = active[j] * self.norm_factor(energy, width // halves)
            energies.append(energy)
        if config.activity_norm == "l1":
            activity = sum(active) / width
        else:
            activity = np.sqrt(sum(energies) / width + TINY)
        return Look(seen, drive, active, energies, activity, latent, margin)

    def norm_factor(self, energy: float, neurons: int) -> float:
        """Divide by the norm, by its square, or by the root mean square."""
        energy = max(energy, TINY)
        return {
            "unit": 1 / np.sqrt(energy),
            "literal": 1 / energy,
            "rms": np.sqrt(neurons) / np.sqrt(energy),
        }[self.config.norm]

    def scale(self, number: int) -> float:
        """Return what an FFA layer's energy is multiplied by."""
        scale = self.config.scale
        return 1 / self.config.hidden[number] if scale == "mean" else scale

    def scores(self, images: Vector, candidates: Vector) -> Vector:
        """Return (layers, batch, candidates): the goodness that predictions compare."""
        scores = np.full((len(self.layers), *candidates.shape), -np.inf)
        for b, c, looks in self.every(images, candidates):
            for number, look in enumerate(looks):
                if self.config.algorithm == "sffa":
                    e, i = look.energies
                    eps = self.config.epsilon
                    scores[number, b, c] = (e + eps) / (e + i + 2 * eps)
                elif self.config.ranking == "probability":
                    scores[number, b, c] = self.probability(number, look)[0]
                else:
                    scores[number, b, c] = self.scale(number) * look.energies[0]
        return scores

    def every(self, images: Vector, candidates: Vector) -> list[tuple[int, int, list[Look]]]:
        """Look at every example under every label it has as a candidate."""
        return [
            (b, c, self.look(images[b], candidates[b, c]))
            for b in range(candidates.shape[0])
            for c in range(candidates.shape[1])
            if candidates[b, c] >= 0
        ]

    def probability(self, number: int, look: Look) -> tuple[float, list[float]]:
        """Return p of one look, and how it changes with each of its energies."""
        config = self.config
        if config.algorithm == "ffa":
            p = 1 / (1 + np.exp(config.theta - self.scale(number) * look.energies[0]))
            return p, [p * (1 - p) * self.scale(number)]
        e, i = look.energies
        eps = config.epsilon
        total = e + i + 2 * eps
        p = (e + eps) / total
        if not config.clamp <= p <= 1 - config.clamp:
            return min(max(p, config.clamp), 1 - config.clamp), [0.0, 0.0]
        return p, [(i + eps) / total**2, -(e + eps) / total**2]

    def loss(
        self, images: Vector, columns: Vector, candidates: Vector
    ) -> tuple[float, list[Gradient]]:
        """Return the loss of a batch and its gradient; no gradient passes from layer to layer."""
        looks = self.every(images, candidates)
        if self.config.coupling == "product":
            groups = [list(range(len(self.layers)))]
        else:
            groups = [[number] for number in range(len(self.layers))]
        total = 0.0
        gradients = [
            Gradient(np.zeros_like(layer.weight), np.zeros_like(layer.bias))
            for layer in self.layers
        ]
        for group in groups:
            total += self.loss_of(group, looks, columns, candidates, gradients)
        return total, gradients

    def log_odds(self, number: int, look: Look) -> tuple[float, list[float]]:
        """Return log p/(1-p) of one look, not clamped, and how it changes with its energies."""
        config = self.config
        if config.algorithm == "ffa":
            scale = self.scale(number)
            return scale * look.energies[0] - config.theta, [scale]
        e, i = (energy + config.epsilon for energy in look.energies)
        return np.log(e / i), [1 / e, -1 / i]

    def contrast(
        self,
        number: int,
        looks: list[tuple[int, int, list[Look]]],
        columns: Vector,
        candidates: Vector,
    ) -> tuple[float, list[list[float]]]:
        """Return one layer's softmax cross-entropy, and how it changes with each look's energies.

        Example by example: -log of exp(true) / sum of exp(candidate), logits over the temperature.
        """
        loss, slopes = 0.0, []
        for b, c, stack in looks:
            odds = {
                label: self.log_odds(number, other[number])[0] / self.config.temperature
                for row, place, other in looks
                if row == b
                for label in [candidates[row, place]]
            }
            total = sum(np.exp(value) for value in odds.values())
            label = candidates[b, c]
            share = np.exp(odds[label]) / total
            positive = label == columns[b]
            loss += -np.log(share) / len(columns) if positive else 0.0
            slope = (share - positive) / self.config.temperature / len(columns)
            by_energies = self.log_odds(number, stack[number])[1]
            slopes.append([slope * each for each in by_energies])
        return loss, slopes

    def loss_of(
        self,
        group: list[int],
        looks: list[tuple[int, int, list[Look]]],
        columns: Vector,
        candidates: Vector,
        gradients: list[Gradient],
    ) -> float:
        """Return the cross-entropy of the product of a group's goodness, with its activity term."""
        config = self.config
        is_positive = [bool(candidates[b, c] == columns[b]) for b, c, _ in looks]
        positives = max(sum(is_positive), 1)
        negatives = max(len(looks) - sum(is_positive), 1)
        floor = 0.0
        if len(group) > 1 or config.coupling == "product":
            floor = max(config.clamp, 1e-7)
        bce, activity = 0.0, 0.0
        by_energies: list[list[list[float]]] = []
        for (_, _, stack), positive in zip(looks, is_positive, strict=True):
            ps = [self.probability(n, stack[n])[0] for n in group]
            product = np.prod(ps)
            right = product if positive else 1 - product
            clipped = min(max(right, floor), 1 - floor)
            bce += -np.log(clipped) / len(looks)
            slope = 0.0 if clipped != right else (-1 if positive else 1) / right / len(looks)
            others = [np.prod(ps[:n] + ps[n + 1 :]) for n in range(len(ps))]
            by_energies.append(
                [
                    [slope * other * by_e for by_e in self.probability(n, stack[n])[1]]
                    for n, other in zip(group, others, strict=True)
                ]
            )
            for n in group:
                share = positives if positive else negatives
                activity += stack[n].activity / share / len(group)
        if config.objective == "contrast":
            bce, slopes = self.contrast(group[0], looks, columns, candidates)
            by_energies = [[slope] for slope in slopes]
        push = np.exp(-config.alpha * activity)
        if config.activity == "none":
            loss, by_surprise, by_activity = bce, 1.0, 0.0
        elif config.activity == "multiply":
            loss, by_surprise = bce * (1 + push), 1 + push
            by_activity = -config.alpha * push * bce
        else:
            loss, by_surprise, by_activity = bce + push, 1.0, -config.alpha * push
        for (_, _, stack), positive, energies in zip(looks, is_positive, by_energies, strict=True):
            share = positives if positive else negatives
            for n, slopes in zip(group, energies, strict=True):
                self.descend(
                    stack[n],
                    [by_surprise * slope for slope in slopes],
                    by_activity / share / len(group),
                    gradients[n],
                )
        return loss

    def descend(
        self, look: Look, by_energies: list[float], by_activity: float, gradient: Gradient
    ) -> None:
        """Carry what the loss wants of energies and activity to weights, within one layer."""
        width = len(look.drive)
        delta = np.zeros(width)
        for j in np.flatnonzero(look.active):
            half = int(j >= width // 2) if len(look.energies) == 2 else 0
            by_active = by_energies[half] * 2 * look.active[j]
            if self.config.activity_norm == "l1":
                by_active += by_activity / width
            else:
                by_active += by_activity * look.active[j] / (width * look.activity)
            is_relu = self.config.activation == "relu"
            slope = 1.0 if is_relu else look.active[j] * (1 - look.active[j])
            delta[j] = by_active * slope
        gradient.weight += np.outer(look.input, delta)
        gradient.bias += delta
