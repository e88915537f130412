"""The latents of a network, written out densely, under labels that are right or wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from sffa.core import Network
from sffa.core.batch import Array
from sffa.errors import ConfigurationError, DataError
from sffa.kernels import Winners, expand

BLOCK = 512


def forward_forward(learner: object) -> Network:
    """Return the learner if it has latents per label; back-propagation has none."""
    if not isinstance(learner, Network):
        raise ConfigurationError(
            f"this analysis looks at the goodness of layers, which a {type(learner).__name__} "
            "does not have; give an SFFA or FFA network"
        )
    return learner


def wrong_columns(network: Network, right: Tensor, rng: np.random.Generator) -> Tensor:
    """Draw a wrong column for each right one, evenly among the others (the paper's negatives)."""
    count = len(network.classes)
    if count < 2:
        raise DataError(f"negative inputs need two classes or more, the network has {count}")
    steps = torch.from_numpy(rng.integers(1, count, size=len(right))).to(right.device)
    return (right + steps) % count


@torch.no_grad()
def latents(
    network: Network, x: Tensor | Array, columns: Tensor, block: int = BLOCK
) -> Iterator[tuple[slice, list[Tensor]]]:
    """Yield blocks of examples and each layer's latents (examples, candidates, width).

    ``columns`` (N,) or (N, candidates) are the labels each example is shown with. Latents are
    those after activation and inhibition, before the normalisation between layers.
    """
    candidates = columns if columns.ndim == 2 else columns[:, None]
    if len(candidates) != len(x):
        raise DataError(f"{len(x)} examples need as many labels, got {len(candidates)}")
    for start in range(0, len(x), block):
        part = slice(start, min(start + block, len(x)))
        responses = network.scan(x[part], candidates[part])
        yield (
            part,
            [
                _dense(response.active, layer.width)  # type: ignore[arg-type]
                for response, layer in zip(responses, network.layers, strict=True)
            ],
        )


def _dense(active: Winners | Tensor, width: int) -> Tensor:
    return expand(active, width) if isinstance(active, Winners) else active
