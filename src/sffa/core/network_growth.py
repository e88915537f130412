"""What of a network grows with classes: codes, their rows of weights, shares of neurons, gates.

The same seed draws the same, whether a network grows or is restored from a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from sffa.core.codes import own_code, symba_code
from sffa.core.config import NetworkConfig
from sffa.core.gates import disjoint_gate, random_gate, shares
from sffa.core.growth import Growth, grow
from sffa.core.layers import Layer, bounds, uniform
from sffa.core.seeds import generator
from sffa.errors import ModelFileError
from sffa.kernels import Gate


def grows(config: NetworkConfig, classes: int) -> bool:
    """Whether weights grow with that many classes."""
    planned = config.planned_classes or 0
    disjoint = config.gate == "disjoint" and classes > planned
    return config.codes == "onehot" or disjoint


def add_codes(
    config: NetworkConfig, own: Mapping[str, Any], classes: Sequence[int], codes: Tensor
) -> Tensor:
    """Return the codes with those of more classes, of the network's own kind or the user's."""
    for label in classes:
        if "codes" in own:
            code = own_code(own["codes"], label, codes, config.code_size, config.seed)
        else:
            given = config.code_size, config.code_density, config.seed
            code = symba_code(label, codes, *given)
        codes = torch.cat([codes, code[None].to(codes.device)])
    return codes


def set_gates(
    config: NetworkConfig, layers: Sequence[Layer], classes: list[int], device: torch.device
) -> None:
    """Set which neurons of each layer each label may use, drawn or disjoint."""
    if config.gate is None or not classes:
        return
    for number, (layer, share) in enumerate(zip(layers, shares(config), strict=True)):
        shape = share, layer.width, config.polarities
        if config.gate == "disjoint":
            gate = disjoint_gate(len(classes), *shape)
        else:
            gate = random_gate(classes, *shape, config.seed, number)
        layer.gate = Gate(gate.own.to(device))


def grow_onehot(
    config: NetworkConfig, layers: Sequence[Layer], old: int, classes: int
) -> list[Growth]:
    """Add a row of code weights to every layer for each class beyond the ``old`` ones."""
    growths = []
    for number, layer in enumerate(layers):
        rng = generator(config.seed, "code rows", number, old)
        bound = bounds(config, 0, classes)["code"]
        fresh = uniform(rng, bound, classes, layer.width)
        places = torch.arange(old), torch.arange(layer.width)
        growth = grow(layer.code, fresh, places, f"layers.{number}.code")
        layer.code = growth.new
        growths.append(growth)
    return growths


def widen(config: NetworkConfig, layers: Sequence[Layer], classes: int) -> list[Growth]:
    """Add a share to every polarity for each class beyond those a disjoint gate planned for."""
    growths: list[Growth] = []
    below: Tensor | None = None
    below_width = 0
    for number, (layer, share) in enumerate(zip(layers, shares(config), strict=True)):
        group = layer.width // config.polarities
        wanted = max(group, classes * share)
        starts = torch.arange(config.polarities)[:, None] * wanted
        columns = (starts + torch.arange(group)).flatten()
        if wanted == group and below is None:
            continue
        width = wanted * config.polarities
        rng = generator(config.seed, "widen", number, width)
        for name, parameter in list(layer.named_parameters()):
            places = [torch.arange(size) for size in parameter.shape[:-1]] + [columns]
            shape = [*parameter.shape[:-1], width]
            if name == "latent" and below is not None:
                places[0], shape[0] = below, below_width
            bound = float(parameter.detach().abs().max())
            if config.init == "block":
                previous = 0 if layer.latent is None else layer.latent.shape[0]
                bound = bounds(config, previous, layer.code.shape[0])[name]
            fresh = uniform(rng, bound, *shape)
            growth = grow(parameter, fresh, tuple(places), f"layers.{number}.{name}")
            setattr(layer, name, growth.new)
            growths.append(growth)
        layer.width = width
        below, below_width = columns, width
    return growths


def check_tensors(
    config: NetworkConfig, classes: Sequence[int], tensors: Mapping[str, Tensor]
) -> None:
    """Refuse codes and weights of a file that no network of these classes can have."""
    codes = tensors["codes"]
    if len(codes) != len(classes) or codes.dtype != torch.float32:
        raise ModelFileError(f"{len(classes)} classes, but {len(codes)} codes ({codes.dtype})")
    if config.codes != "onehot" and codes.shape[1:] != (config.code_size,):
        raise ModelFileError(f"codes of shape {tuple(codes.shape)}")
    for number, width in enumerate(config.hidden):
        found = tuple(tensors[f"layers.{number}.image"].shape)
        if found[0] != config.inputs or found[1] < width:
            raise ModelFileError(f"layer {number} has an image block of shape {found}")
