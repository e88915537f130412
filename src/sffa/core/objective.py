"""Objectives: the loss of a layer, local to it, and the activity term of SFFA."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from sffa.core.config import NetworkConfig
from sffa.core.goodness import Energies, Goodness
from sffa.core.layers import Response
from sffa.errors import ConfigurationError
from sffa.extension import name_of


@dataclass(frozen=True)
class Aims:
    """What a batch asks of every layer, each (batch, candidates).

    ``target`` is true for the right label, ``valid`` where there is one; ``weight`` (batch,) is
    what each example counts, None: one.
    """

    target: Tensor
    valid: Tensor
    weight: Tensor | None = None

    @cached_property
    def right(self) -> Tensor:
        """The target as a number."""
        return self.target.float()

    @cached_property
    def example(self) -> Tensor:
        """What each example counts in a mean over examples (batch, 1)."""
        if self.weight is None:
            return self.right.new_full((1, 1), 1 / max(len(self.target), 1))
        return (self.weight / self.weight.sum())[:, None]

    @cached_property
    def input(self) -> Tensor:
        """What each input, an example under a label, counts in a mean over inputs."""
        return _share(self.valid, self.weight)

    @cached_property
    def sides(self) -> Tensor:
        """What each input counts in the mean over positive plus that over negative ones."""
        return _share(self.target, self.weight) + _share(self.valid & ~self.target, self.weight)

    @cached_property
    def partial(self) -> bool:
        """Whether some candidates are none."""
        return not bool(self.valid.all())


class Slopes(NamedTuple):
    """A layer's loss with its derivatives.

    By the energies (batch, candidates, polarities) and, where the loss has an activity term, by the
    sum of the latents (batch, candidates).
    """

    total: Tensor
    energy: Tensor
    activity: Tensor | None


class LayerLoss(NamedTuple):
    """A layer's loss and what it is made of: cross-entropy and mean activity."""

    total: Tensor
    entropy: Tensor
    activity: Tensor


class Objective(ABC):
    """The loss of a layer: a class, an object, or ``module:Class`` as ``Network(objective=…)``.

    The activity term is added to it, unless the network has ``activity="none"``.

    >>> import torch, sffa
    >>> class Hinge(Objective):
    ...     def losses(self, goodness, energies, target, valid):
    ...         odds = goodness.log_odds(energies) * (2 * target - 1)  # (examples, labels)
    ...         return ((1 - odds).clamp(min=0) * valid).sum(dim=1)
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2), objective=Hinge())
    >>> bool(sffa.Trainer(net).step(torch.eye(4), torch.tensor([0, 0, 1, 1])) > 0)
    True
    """

    @abstractmethod
    def losses(
        self, goodness: Goodness, energies: Energies, target: Tensor, valid: Tensor
    ) -> Tensor:
        """Return the loss of each example (batch,), to be differentiated.

        Energies, ``target`` and ``valid`` are (batch, candidates): the true label, and whether
        there is a candidate.
        """


def own_losses(
    objective: Objective, goodness: Goodness, energies: Energies, target: Tensor, valid: Tensor
) -> Tensor:
    """Return the losses (batch,) of a user's objective, if they can be such."""
    losses = objective.losses(goodness, energies, target, valid)
    if not isinstance(losses, Tensor) or losses.shape != target.shape[:1]:
        found = getattr(losses, "shape", type(losses).__name__)
        raise ConfigurationError(
            f"objective {name_of(objective)}: expected a loss for each of {len(target)} examples, "
            f"got {tuple(found) if isinstance(losses, Tensor) else found}"
        )
    return losses


def layer_loss(
    config: NetworkConfig,
    goodness: Goodness,
    response: Response,
    target: Tensor,
    valid: Tensor,
    weight: Tensor | None = None,
    objective: Objective | None = None,
) -> LayerLoss:
    """Return a layer's cross-entropy with the activity term (eq. 3).

    ``target`` and ``valid`` are (batch, candidates): the true label, and whether there is one.
    ``weight`` (batch,) is what each example counts; None: one. An ``objective`` of the user's
    replaces the cross-entropy.
    """
    if objective is not None:
        losses = own_losses(objective, goodness, response.energies, target, valid)
        entropy = losses.mean() if weight is None else (losses * weight).sum() / weight.sum()
    elif config.objective == "contrast":
        logits = goodness.log_odds(response.energies) / config.temperature
        entropy = contrast(logits, target, valid, weight)
    else:
        entropy = _mean(goodness.bce(response.energies, target), valid, weight)
    activity = total_activity(response, target, valid, weight)
    return LayerLoss(with_activity(config, entropy, activity), entropy, activity)


def layer_slopes(
    config: NetworkConfig, goodness: Goodness, response: Response, width: int, aims: Aims
) -> Slopes:
    """Return what `layer_loss` returns in total, differentiated by hand.

    A layer is local, so its loss depends on nothing but its energies and its activity.
    """
    if config.objective == "contrast":
        entropy, slope = _contrast_slopes(config, goodness, response.energies, aims)
    else:
        inner = goodness.bce_slopes(response.energies, aims.target)
        entropy = (goodness.bce(response.energies, aims.target) * aims.input).sum()
        slope = torch.stack(inner, dim=-1).mul_(aims.input[..., None])
    if config.activity == "none":
        return Slopes(entropy, slope, None)
    push = (response.activity * aims.sides).sum().mul_(-config.alpha).exp_()
    if config.activity == "multiply":
        to_activity = aims.sides * (push * entropy).mul_(-config.alpha)
        total = entropy * push.add_(1)
        slope.mul_(push)
    else:
        total, to_activity = entropy + push, aims.sides * (-config.alpha * push)
    if config.activity_norm == "l1":
        return Slopes(total, slope, to_activity.div_(width))
    return Slopes(
        total, slope.add_((to_activity / (2 * width * response.activity))[..., None]), None
    )


def _contrast_slopes(
    config: NetworkConfig, goodness: Goodness, energies: Energies, aims: Aims
) -> tuple[Tensor, Tensor]:
    """Return the loss of `contrast` and its derivative by the energies."""
    logits = goodness.log_odds(energies).div_(config.temperature)
    if aims.partial:
        logits = logits.masked_fill_(~aims.valid, -torch.inf)
    log_share = logits.log_softmax(dim=1)
    losses = torch.where(aims.target, log_share, 0.0).mul_(aims.example)
    outer = log_share.exp_().sub_(aims.right).mul_(aims.example / config.temperature)
    slopes = torch.stack(goodness.log_odds_slopes(energies), dim=-1)
    return -losses.sum(), slopes.mul_(outer[..., None])


def contrast(logits: Tensor, target: Tensor, valid: Tensor, weight: Tensor | None = None) -> Tensor:
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
