"""Objectives: the loss of a layer, local to it, and the activity term of SFFA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sffa.core.config import NetworkConfig
from sffa.core.goodness import Goodness
from sffa.core.layers import Response


class LayerLoss(NamedTuple):
    """A layer's loss and what it is made of: cross-entropy and mean activity."""

    total: Tensor
    entropy: Tensor
    activity: Tensor


def layer_loss(
    config: NetworkConfig, goodness: Goodness, response: Response, target: Tensor, valid: Tensor
) -> LayerLoss:
    """Return a layer's cross-entropy with the activity term (eq. 3).

    ``target`` and ``valid`` are (batch, candidates): the true label, and whether there is one.
    """
    if config.objective == "contrast":
        logits = goodness.log_odds(response.energies) / config.temperature
        entropy = contrast(logits, target, valid)
    else:
        entropy = _mean(goodness.bce(response.energies, target), valid)
    activity = total_activity(response, target, valid)
    return LayerLoss(with_activity(config, entropy, activity), entropy, activity)


def contrast(logits: Tensor, target: Tensor, valid: Tensor) -> Tensor:
    """Return the softmax cross-entropy of the true label among its candidates, mean over examples.

    Ours: in place of one yes or no for each label, the labels compete within each layer. An example
    without a wrong candidate adds nothing.

    >>> contrast(torch.zeros(1, 4), torch.eye(4)[:1] > 0, torch.ones(1, 4) > 0).exp()
    tensor(4.)
    """
    logits = logits.masked_fill(~valid, -torch.inf)
    right = torch.where(target, logits, 0.0).sum(dim=1)
    return (logits.logsumexp(dim=1) - right).mean()


def product_loss(
    config: NetworkConfig,
    goodness: Sequence[Goodness],
    responses: Sequence[Response],
    target: Tensor,
    valid: Tensor,
) -> Tensor:
    """Return the cross-entropy of the product of all layers' goodness: couples the layers."""
    product = torch.stack(
        [g.probability(r.energies) for g, r in zip(goodness, responses, strict=True)]
    ).prod(dim=0)
    right = torch.where(target, product, 1 - product)
    floor = max(config.clamp, 1e-7)
    bce = _mean(-right.clamp(floor, 1 - floor).log(), valid)
    activity = torch.stack([total_activity(r, target, valid) for r in responses]).mean()
    return with_activity(config, bce, activity)


def total_activity(response: Response, target: Tensor, valid: Tensor) -> Tensor:
    """Return the mean activity of the positive pass plus that of the negative pass."""
    return _mean(response.activity, target) + _mean(response.activity, valid & ~target)


def with_activity(config: NetworkConfig, entropy: Tensor, activity: Tensor) -> Tensor:
    """Push a layer away from rest, where its gradient is unstable."""
    if config.activity == "none":
        return entropy
    push = torch.exp(-config.alpha * activity)
    return entropy * (1 + push) if config.activity == "multiply" else entropy + push


def _mean(values: Tensor, where: Tensor) -> Tensor:
    """Average the chosen coordinates; zero if there are none."""
    return torch.where(where, values, 0.0).sum() / where.sum().clamp(min=1)
