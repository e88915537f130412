"""Objectives: the loss of a layer, local to it, and the activity term of SFFA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sffa.core.config import NetworkConfig
from sffa.core.goodness import Goodness
from sffa.core.layers import Response


class Slopes(NamedTuple):
    """A layer's loss with its derivatives: by the energies (batch, candidates, polarities) and,
    where the loss has such a term, by the sum of the latents (batch, candidates)."""

    total: Tensor
    energy: Tensor
    activity: Tensor | None


class LayerLoss(NamedTuple):
    """A layer's loss and what it is made of: cross-entropy and mean activity."""

    total: Tensor
    entropy: Tensor
    activity: Tensor


def layer_loss(
    config: NetworkConfig,
    goodness: Goodness,
    response: Response,
    target: Tensor,
    valid: Tensor,
    weight: Tensor | None = None,
) -> LayerLoss:
    """Return a layer's cross-entropy with the activity term (eq. 3).

    ``target`` and ``valid`` are (batch, candidates): the true label, and whether there is one.
    ``weight`` (batch,) is what each example counts; None: one.
    """
    if config.objective == "contrast":
        logits = goodness.log_odds(response.energies) / config.temperature
        entropy = contrast(logits, target, valid, weight)
    else:
        entropy = _mean(goodness.bce(response.energies, target), valid, weight)
    activity = total_activity(response, target, valid, weight)
    return LayerLoss(with_activity(config, entropy, activity), entropy, activity)


def layer_slopes(
    config: NetworkConfig,
    goodness: Goodness,
    response: Response,
    width: int,
    target: Tensor,
    valid: Tensor,
    weight: Tensor | None = None,
) -> Slopes:
    """Return what `layer_loss` returns in total, differentiated by hand.

    A layer is local, so its loss depends on nothing but its energies and its activity.
    """
    energies = response.energies
    if config.objective == "contrast":
        logits = goodness.log_odds(energies).div_(config.temperature)
        logits = logits.masked_fill_(~valid, -torch.inf)
        whole = logits.logsumexp(dim=1, keepdim=True)
        counts = _share(torch.ones_like(whole), weight)
        right = torch.where(target, logits, 0.0).sum(dim=1, keepdim=True)
        entropy = ((whole - right) * counts).sum()
        outer = (logits.sub_(whole).exp_() - target.float()) * (counts / config.temperature)
        slopes = goodness.log_odds_slopes(energies)
    else:
        outer = _share(valid, weight)
        entropy = (goodness.bce(energies, target) * outer).sum()
        slopes = goodness.bce_slopes(energies, target)
    slope = torch.stack([each * outer for each in slopes], dim=-1)
    if config.activity == "none":
        return Slopes(entropy, slope, None)
    shares = _share(target, weight) + _share(valid & ~target, weight)
    push = torch.exp(-config.alpha * (response.activity * shares).sum())
    if config.activity == "multiply":
        total, to_activity = entropy * (1 + push), shares * (-config.alpha * push * entropy)
        slope.mul_(1 + push)
    else:
        total, to_activity = entropy + push, shares * (-config.alpha * push)
    if config.activity_norm == "l1":
        return Slopes(total, slope, to_activity.div_(width))
    return Slopes(total, slope.add_((to_activity / (2 * width * response.activity))[..., None]), None)


def contrast(
    logits: Tensor, target: Tensor, valid: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Return the softmax cross-entropy of the true label among its candidates, mean over examples.

    Ours: in place of one yes or no for each label, the labels compete within each layer. An example
    without a wrong candidate adds nothing.

    >>> contrast(torch.zeros(1, 4), torch.eye(4)[:1] > 0, torch.ones(1, 4) > 0).exp()
    tensor(4.)
    """
    logits = logits.masked_fill(~valid, -torch.inf)
    right = torch.where(target, logits, 0.0).sum(dim=1)
    losses = logits.logsumexp(dim=1) - right
    return losses.mean() if weight is None else (losses * weight).sum() / weight.sum()


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


def total_activity(
    response: Response, target: Tensor, valid: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Return the mean activity of the positive pass plus that of the negative pass."""
    positive = _mean(response.activity, target, weight)
    return positive + _mean(response.activity, valid & ~target, weight)


def with_activity(config: NetworkConfig, entropy: Tensor, activity: Tensor) -> Tensor:
    """Push a layer away from rest, where its gradient is unstable."""
    if config.activity == "none":
        return entropy
    push = torch.exp(-config.alpha * activity)
    return entropy * (1 + push) if config.activity == "multiply" else entropy + push


def _mean(values: Tensor, where: Tensor, weight: Tensor | None = None) -> Tensor:
    """Average the chosen coordinates; zero if there are none."""
    if weight is not None:
        return torch.where(where, values, 0.0).mul(_share(where, weight)).sum()
    return torch.where(where, values, 0.0).sum() / where.sum().clamp(min=1)


def _share(where: Tensor, weight: Tensor | None) -> Tensor:
    """Return what each of the chosen coordinates counts in their mean; in all one, or zero."""
    counts = where.float() if weight is None else where.float() * weight[:, None]
    total = counts.sum()
    return counts.div_(total + (total == 0))
