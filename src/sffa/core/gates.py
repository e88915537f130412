"""Label gates: which neurons of a layer a label may use."""

from __future__ import annotations

import numpy as np
import torch

from sffa.core.config import NetworkConfig
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError
from sffa.kernels import Gate


def share_of(group: int, gate: float | str, planned: int | None, least: int) -> int:
    """Return how many of a polarity's ``group`` neurons each label owns; at least ``least``."""
    if gate == "disjoint":
        share = group // (planned or 1)
        left = f"{planned} disjoint shares leave"
    else:
        share = round(float(gate) * group)
        left = f"a gate of {gate} leaves"
    if share < least:
        raise ConfigurationError(
            f"{left} {share} of {group} neurons of a polarity to each label, fewer than its "
            f"{least} winners; use wider layers, a smaller k or a larger gate"
        )
    return share


def shares(config: NetworkConfig) -> list[int]:
    """Return how many neurons of a polarity each label owns in each layer, when gated."""
    assert config.gate is not None
    least = config.k if config.algorithm == "sffa" else 1
    return [
        share_of(width // config.polarities, config.gate, config.planned_classes, least)
        for width in config.hidden
    ]


def random_gate(
    labels: list[int], share: int, width: int, polarities: int, seed: int, layer: int
) -> Gate:
    """Draw each label's neurons, ``share`` of every polarity, from the seed and the label."""
    group = width // polarities
    own = np.empty((len(labels), polarities, share), np.int32)
    for row, label in enumerate(labels):
        rng = generator(seed, "gate", layer, label)
        for polarity in range(polarities):
            drawn = rng.choice(group, size=share, replace=False)
            own[row, polarity] = np.sort(drawn) + polarity * group
    return Gate(torch.from_numpy(own))


def disjoint_gate(count: int, share: int, width: int, polarities: int) -> Gate:
    """Return the labels, in the order they were met, neighbouring shares of every polarity."""
    start = torch.arange(polarities)[None, :] * (width // polarities)
    start = start + torch.arange(count)[:, None] * share
    return Gate((start[..., None] + torch.arange(share)).int())
