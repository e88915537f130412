"""The formulas: what a layer answers, what its loss is, and how the loss changes with its weights.

A layer sees [previous latent, image, code]. All labels of an example are looked at together:
arrays are (batch, candidates, …), and a candidate of -1 is none. Gradients are derived by hand;
none passes from one layer to another. `sffa.core` is tested against this file, which shares
nothing with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sffa.lite.config import Config

Array = NDArray[Any]
TINY = 1e-12


@dataclass
class Layer:
    """Weights of one layer: the three blocks of its input, and biases.

    ``own`` (classes, polarities, share) are the neurons that each label may use; None: all.
    """

    number: int
    image: Array
    code: Array
    latent: Array | None
    bias: Array
    own: Array | None = None

    @property
    def blocks(self) -> dict[str, Array]:
        """The weights by name."""
        named = {"image": self.image, "code": self.code, "latent": self.latent, "bias": self.bias}
        return {name: block for name, block in named.items() if block is not None}


class Answer(NamedTuple):
    """What a layer makes of each example under each of its candidates.

    ``active`` and ``latent`` (batch, candidates, width): activity, and the same times ``factor``,
    normalised for the next layer; ``factor`` and ``energies`` (batch, candidates, polarities);
    ``activity`` (batch, candidates).
    """

    active: Array
    factor: Array
    energies: Array
    activity: Array

    @property
    def latent(self) -> Array:
        """What the next layer hears."""
        grouped = self.active.reshape(*self.factor.shape, -1)
        latent: Array = (grouped * self.factor[..., None]).reshape(self.active.shape)
        return latent


@dataclass(frozen=True)
class Product:
    """The gradient inputsᵀ · slopes of a block of weights, of which rows are made when asked."""

    inputs: Array
    slopes: Array

    def __getitem__(self, rows: Any) -> Array:
        """Return some rows."""
        made: Array = self.inputs[:, rows].T @ self.slopes
        return made


class Slopes(NamedTuple):
    """How the loss changes with what layers answer: (layers, batch, candidates[, polarities])."""

    energies: Array
    activity: Array


def drives(layer: Layer, x: Array, codes: Array, candidates: Array, below: Array | None) -> Array:
    """Return the drives (batch, candidates, width): latent·W + image·W + code·W + bias."""
    drive: Array = (x @ layer.image)[:, None] + (codes @ layer.code + layer.bias)[candidates]
    if layer.latent is not None and below is not None:
        drive += below @ layer.latent
    return drive


def answer(config: Config, layer: Layer, drive: Array, candidates: Array) -> Answer:
    """Return what a layer answers to its drives."""
    rows, labels, width = drive.shape
    polarities = config.polarities
    halves = drive.reshape(rows, labels, polarities, width // polarities)
    allowed = None if layer.own is None else _mask(layer.own, halves.shape[2:])[candidates]
    if config.algorithm == "sffa":
        if allowed is not None:
            halves = np.where(allowed, halves, -np.inf)
        active = _winners(halves, config.k, str(config.activation))
    else:
        active = _activation(halves, str(config.activation))
        if allowed is not None:
            active *= allowed
    energies = np.einsum("...i,...i", active, active)
    factor = _norm_factor(energies, width // polarities, config.norm)
    if config.activity_norm == "l1":
        activity = active.sum(axis=(-2, -1)) / width
    else:
        activity = np.sqrt(energies.sum(axis=-1) / width + TINY)
    return Answer(active.reshape(drive.shape), factor, energies, activity)


def _mask(own: Array, shape: tuple[int, ...]) -> Array:
    """Return the neurons of each label as a mask (classes, polarities, neurons of a polarity)."""
    mask = np.zeros((len(own), shape[0] * shape[1]), bool)
    np.put_along_axis(mask, own.reshape(len(own), -1), True, axis=1)
    return mask.reshape(len(own), *shape)


def _winners(halves: Array, k: int, activation: str) -> Array:
    """Return the activity of the k largest drives of each half, and 0 for the others (k-WTA)."""
    active = np.zeros_like(halves)
    for drive, kept in zip(halves, active, strict=True):  # by example: places take memory
        place = np.argpartition(drive, -k, axis=-1)[..., -k:]
        won = np.take_along_axis(drive, place, axis=-1)
        np.put_along_axis(kept, place, _activation(won, activation), axis=-1)
    return active


def _activation(drive: Array, name: str) -> Array:
    """Return max(z, 0) or 1 / (1 + exp(−z)), by its formula also where that is tiny."""
    if name == "relu":
        return np.maximum(drive, 0)
    with np.errstate(over="ignore"):
        value: Array = 1 / (1 + np.exp(-drive))
    return value


def _norm_factor(energy: Array, neurons: int, norm: str) -> Array:
    """Return what a latent is multiplied by: 1 / norm, 1 / norm², or √neurons / norm."""
    safe = np.maximum(energy, TINY)
    factor: Array = 1 / safe if norm == "literal" else 1 / np.sqrt(safe)
    return factor * neurons**0.5 if norm == "rms" else factor


def score(config: Config, number: int, energies: Array) -> Array:
    """Return what candidates are ranked by: the goodness, its probability, or its log-odds."""
    if config.ranking == "odds":
        return log_odds(config, number, energies)[0]
    if config.algorithm == "sffa":
        return _share(config, energies)
    scaled = energies[..., 0] * config.scale_of(number)
    return scaled if config.ranking == "energy" else _sigmoid(scaled - config.theta)


def _share(config: Config, energies: Array) -> Array:
    """Return the goodness of SFFA (eq. 1): the positive share of the energy."""
    safe = energies + config.epsilon
    share: Array = safe[..., 0] / safe.sum(axis=-1)
    return share


def log_odds(config: Config, number: int, energies: Array) -> tuple[Array, Array]:
    """Return log p/(1 − p), not clamped, and how it changes with each energy."""
    if config.algorithm == "ffa":
        scale = config.scale_of(number)
        return scale * energies[..., 0] - config.theta, np.full_like(energies, scale)
    safe = energies + config.epsilon
    signs = np.array([1, -1], energies.dtype)
    return np.log(safe[..., 0]) - np.log(safe[..., 1]), signs / safe


def probability(config: Config, number: int, energies: Array) -> tuple[Array, Array]:
    """Return p, clamped in SFFA, and how it changes with each energy."""
    if config.algorithm == "ffa":
        odds, by_energies = log_odds(config, number, energies)
        p = _sigmoid(odds)
        return p, (p * (1 - p))[..., None] * by_energies
    safe = energies + config.epsilon
    total = safe.sum(axis=-1, keepdims=True)
    p = (safe / total)[..., 0]
    inside = (config.clamp <= p) & (p <= 1 - config.clamp)
    signs = np.array([1, -1], energies.dtype)
    slope = inside[..., None] * signs * safe[..., ::-1] / total**2
    return np.clip(p, config.clamp, 1 - config.clamp), slope


def _sigmoid(z: Array) -> Array:
    return _activation(z, "sigmoid")


def loss(
    config: Config, answers: Sequence[Answer], layers: Sequence[int], target: Array, valid: Array
) -> tuple[float, Slopes]:
    """Return the loss of some layers, with its slopes; ``layers`` are the numbers of the answers.

    One layer has a loss of its own; several are coupled by the product of their goodness.
    ``target`` and ``valid`` (batch, candidates): the true label, and whether there is one at all.
    The cross-entropy comes with the activity term of eq. 3, whose activity is the mean of the
    positive pass plus that of the negative one.
    """
    energies = np.stack([each.energies for each in answers])
    if config.coupling == "product":
        entropy, slopes = _product(config, layers, energies, target, valid)
    else:
        entropy_of = _contrast if config.objective == "contrast" else _bce
        entropy, slopes = entropy_of(config, layers[0], energies[0], target, valid)
        slopes = slopes[None]
    negative = valid & ~target
    weight = target / max(target.sum(), 1) + negative / max(negative.sum(), 1)
    weight = (weight / len(answers)).astype(energies.dtype)
    activity = sum(float((each.activity * weight).sum()) for each in answers)
    total, by_entropy, by_activity = _with_activity(config, entropy, activity)
    by_activities = np.broadcast_to(by_activity * weight, energies.shape[:-1])
    return total, Slopes(by_entropy * slopes, by_activities)


def _with_activity(config: Config, entropy: float, activity: float) -> tuple[float, float, float]:
    """Return the loss, and how it changes with cross-entropy and activity."""
    push = float(np.exp(-config.alpha * activity))
    if config.activity == "none":
        return entropy, 1.0, 0.0
    if config.activity == "multiply":
        return entropy * (1 + push), 1 + push, -config.alpha * push * entropy
    return entropy + push, 1.0, -config.alpha * push


def _bce(
    config: Config, number: int, energies: Array, target: Array, valid: Array
) -> tuple[float, Array]:
    """Return the binary cross-entropy of each label by itself: −log p, or −log(1 − p)."""
    share = (valid / max(valid.sum(), 1)).astype(energies.dtype)
    sign = np.where(target, -1, 1).astype(energies.dtype)
    if config.algorithm == "ffa":
        odds, by_energies = log_odds(config, number, energies)
        entropy = np.logaddexp(0, sign * odds)
        by_odds = sign * _sigmoid(sign * odds)
        return float((entropy * share).sum()), (by_odds * share)[..., None] * by_energies
    p, by_energies = probability(config, number, energies)
    right = np.where(target, p, _share(config, energies[..., ::-1]))
    right = np.clip(right, config.clamp, 1 - config.clamp)  # not 1 − p, which would lose digits
    slope = sign / right * share
    return float((-np.log(right) * share).sum()), slope[..., None] * by_energies


def _contrast(
    config: Config, number: int, energies: Array, target: Array, valid: Array
) -> tuple[float, Array]:
    """Return the softmax cross-entropy over an example's labels, the log-odds as logits (ours)."""
    odds, by_energies = log_odds(config, number, energies)
    logits = np.where(valid, odds / config.temperature, -np.inf)
    shifted = logits - logits.max(axis=1, keepdims=True)
    softmax = np.exp(shifted)
    total = softmax.sum(axis=1, keepdims=True)
    entropy = np.log(total[:, 0]) - np.where(target, shifted, 0).sum(axis=1)
    slope = (softmax / total - target) / (config.temperature * len(target))
    return float(entropy.mean()), slope.astype(energies.dtype)[..., None] * by_energies


def _product(
    config: Config, layers: Sequence[int], energies: Array, target: Array, valid: Array
) -> tuple[float, Array]:
    """Return the binary cross-entropy of the product of all layers' goodness."""
    found = [probability(config, n, each) for n, each in zip(layers, energies, strict=True)]
    ps = np.stack([p for p, _ in found])
    right = np.where(target, ps.prod(axis=0), 1 - ps.prod(axis=0))
    floor = max(config.clamp, 1e-7)
    inside = (floor <= right) & (right <= 1 - floor)
    safe = np.clip(right, floor, 1 - floor)
    share = valid / max(valid.sum(), 1)
    slope = np.where(target, -1, 1) / safe * inside * share
    others = [np.delete(ps, n, axis=0).prod(axis=0) for n in range(len(ps))]
    by_energies = [
        (slope * other)[..., None] * each for other, (_, each) in zip(others, found, strict=True)
    ]
    return float((-np.log(safe) * share).sum()), np.stack(by_energies).astype(energies.dtype)


def drive_gradient(config: Config, given: Answer, by_energies: Array, by_activity: Array) -> Array:
    """Return how the loss changes with the drives (batch, candidates, width)."""
    active, width = given.active, given.active.shape[-1]
    grouped = active.reshape(*active.shape[:2], config.polarities, -1)
    slope = (2 * by_energies[..., None] * grouped).reshape(active.shape)
    if config.activity_norm == "l1":
        slope += (by_activity / width)[..., None]
    else:
        slope += (by_activity / (width * given.activity))[..., None] * active
    slope *= active > 0 if config.activation == "relu" else active * (1 - active)
    return slope


def weight_gradients(
    layer: Layer, x: Array, codes: Array, candidates: Array, below: Array | None, by_drive: Array
) -> dict[str, Array | Product]:
    """Return the gradient of each block of weights: its input times the drives' gradient.

    Matrices are products whose rows are made when they are asked for, ``gradient[:]`` for all.
    """
    by_label = np.zeros((len(codes), by_drive.shape[-1]), by_drive.dtype)
    np.add.at(by_label, candidates.ravel(), by_drive.reshape(-1, by_drive.shape[-1]))
    found: dict[str, Array | Product] = {
        "image": Product(x, by_drive.sum(axis=1)),
        "code": Product(codes, by_label),
        "bias": by_label.sum(axis=0),
    }
    if layer.latent is not None and below is not None:
        width = by_drive.shape[-1]
        found["latent"] = Product(below.reshape(-1, below.shape[-1]), by_drive.reshape(-1, width))
    return found
