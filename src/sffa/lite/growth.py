"""What a network draws from its seed: weights, label codes, gates, and what grows with classes.

The same seed gives the same numbers as in the whole library.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sffa.errors import ConfigurationError
from sffa.lite.config import Config
from sffa.lite.formulas import Array, Layer
from sffa.seeds import generator

_TRIES = 10_000


def bounds(config: Config, previous: int, code: int) -> dict[str, float]:
    """Return the bound of each block of weights: one by all inputs together, or one a block."""
    if config.init == "joint":
        bound = (previous + config.inputs + code) ** -0.5
        return dict.fromkeys(("image", "code", "latent", "bias"), bound)
    return {
        "image": config.spread * (3 / config.inputs) ** 0.5,
        "code": max(code, 1) ** -0.5,
        "latent": max(previous, 1) ** -0.5,
        "bias": config.spread,
    }


def new_layers(config: Config, code: int) -> list[Layer]:
    """Draw the weights of all layers; ``code`` is the size of a label code."""
    layers = []
    previous = 0
    for number, width in enumerate(config.hidden):
        rng = generator(config.seed, "weights", number)
        bound = bounds(config, previous, code)
        image = _uniform(rng, bound["image"], config.inputs, width)
        codes = _uniform(rng, bound["code"], code, width)
        latent = _uniform(rng, bound["latent"], previous, width) if previous else None
        bias = _uniform(rng, bound["bias"], width)
        layers.append(Layer(number, image, codes, latent, bias))
        previous = width
    return layers


def _uniform(rng: np.random.Generator, bound: float, *shape: int) -> Array:
    drawn = rng.random(shape, dtype=np.float32) * (2 * bound) - bound
    return drawn.astype(np.float32)


def symba_code(config: Config, label: int, taken: Array) -> Array:
    """Draw Bernoulli(density) bits for a class, different from the rows of ``taken``."""
    rng = generator(config.seed, "code", label)
    for _ in range(_TRIES):
        bits = (rng.random(config.code_size) < config.code_density).astype(taken.dtype)
        if not (taken == bits).all(axis=1).any():
            return bits
    raise ConfigurationError(f"no free code for class {label}: raise code_size")


def set_gates(config: Config, layers: Sequence[Layer], classes: Sequence[int]) -> None:
    """Set which neurons of each layer each label may use, drawn or disjoint."""
    if config.gate is None or not classes:
        return
    for layer, share in zip(layers, config.shares, strict=True):
        group = len(layer.bias) // config.polarities
        starts = np.arange(config.polarities)[:, None] * group
        if config.gate == "disjoint":
            first = starts + np.arange(len(classes))[:, None, None] * share
            layer.own = first + np.arange(share)
            continue
        layer.own = np.empty((len(classes), config.polarities, share), np.int64)
        for row, label in enumerate(classes):
            rng = generator(config.seed, "gate", layer.number, label)
            for polarity in range(config.polarities):
                drawn = rng.choice(group, size=share, replace=False)
                layer.own[row, polarity] = np.sort(drawn) + polarity * group


def grow_onehot(config: Config, layers: Sequence[Layer], old: int, classes: int) -> None:
    """Add a row of code weights to every layer for each class beyond the ``old`` ones."""
    for layer in layers:
        rng = generator(config.seed, "code rows", layer.number, old)
        fresh = _uniform(rng, bounds(config, 0, classes)["code"], classes, len(layer.bias))
        fresh[:old] = layer.code
        layer.code = fresh.astype(layer.code.dtype)


def widen(config: Config, layers: Sequence[Layer], classes: int) -> None:
    """Add a share to every polarity for each class beyond those a disjoint gate planned for."""
    below: Array | None = None
    for layer, share in zip(layers, config.shares, strict=True):
        width = len(layer.bias)
        group = width // config.polarities
        wanted = max(group, classes * share)
        if wanted == group and below is None:
            continue
        columns = (np.arange(config.polarities)[:, None] * wanted + np.arange(group)).ravel()
        width = wanted * config.polarities
        rng = generator(config.seed, "widen", layer.number, width)
        previous = 0 if layer.latent is None else len(layer.latent)
        for name, block in layer.blocks.items():
            shape = [*block.shape[:-1], width]
            rows = np.arange(shape[0])
            if name == "latent" and below is not None:
                rows, shape[0] = below, len(layers[layer.number - 1].bias)
            bound = float(np.abs(block).max())
            if config.init == "block":
                bound = bounds(config, previous, len(layer.code))[name]
            fresh = _uniform(rng, bound, *shape).astype(block.dtype)
            fresh[np.ix_(rows, columns) if block.ndim == 2 else columns] = block
            setattr(layer, name, fresh)
        below = columns
