"""Goodness: how positive a layer finds its input, from the energies of its polarities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

Energies = tuple[Tensor, ...]


class Goodness(ABC):
    """How positive a layer finds each input under each label; your own needs `log_odds` alone.

    A class, an object, or the name ``module:Class`` is given as ``Network(goodness=…)``, and every
    layer has it. Each tensor is (batch, candidates); energies are those of the positive and the
    negative half in SFFA, and one in FFA.

    >>> import torch, sffa
    >>> class Difference(Goodness):
    ...     def log_odds(self, energies):
    ...         return energies[0] - energies[1]
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2), goodness=Difference())
    >>> tuple(net.scores(torch.eye(4)).shape)  # examples, classes
    (4, 2)
    """

    @abstractmethod
    def log_odds(self, energies: Energies) -> Tensor:
        """Return log(p / (1 − p)) of the probability that the input is positive."""

    def score(self, energies: Energies) -> Tensor:
        """Return what candidates are ranked by, here the log-odds."""
        return self.log_odds(energies)

    def probability(self, energies: Energies) -> Tensor:
        """Return the probability that the input is positive."""
        return torch.sigmoid(self.log_odds(energies))

    def bce(self, energies: Energies, target: Tensor) -> Tensor:
        """Return the binary cross-entropy of each coordinate; ``target`` is true for positives."""
        logit = self.log_odds(energies)
        return F.softplus(torch.where(target, -logit, logit))

    def log_odds_slopes(self, energies: Energies) -> Energies:
        """Return the derivative of `log_odds` by each energy, where it is in `KNOWN_SLOPES`."""
        raise NotImplementedError

    def bce_slopes(self, energies: Energies, target: Tensor) -> Energies:
        """Return the derivative of `bce` by each energy, where it is in `KNOWN_SLOPES`."""
        raise NotImplementedError


@dataclass(frozen=True)
class SymmetricGoodness(Goodness):
    """SFFA (eq. 1): the positive share of the energy, so that p(E, I) = 1 − p(I, E).

    >>> goodness = SymmetricGoodness(epsilon=1e-9, clamp=1e-4)
    >>> goodness.score((torch.tensor(3.0), torch.tensor(1.0)))
    tensor(0.7500)
    """

    epsilon: float
    clamp: float
    ranking: str = "energy"

    def score(self, energies: Energies) -> Tensor:
        """Return what candidates are ranked by: the goodness, not clamped, or its log-odds."""
        if self.ranking == "odds":
            return self.log_odds(energies)
        positive, negative = energies
        return (positive + self.epsilon) / (positive + negative + 2 * self.epsilon)

    def probability(self, energies: Energies) -> Tensor:
        """Return the goodness clamped away from 0 and 1."""
        positive, negative = energies
        share = (positive + self.epsilon) / (positive + negative + 2 * self.epsilon)
        return share.clamp(self.clamp, 1 - self.clamp)

    def log_odds(self, energies: Energies) -> Tensor:
        """Return log(p / (1 − p)) of the goodness that is not clamped: log E₊ − log E₋."""
        positive, negative = energies
        return (positive + self.epsilon).log() - (negative + self.epsilon).log()

    def bce(self, energies: Energies, target: Tensor) -> Tensor:
        """Return the binary cross-entropy of each coordinate; ``target`` is true for positives."""
        positive, negative = energies
        right = torch.where(target, positive, negative)
        share = (right + self.epsilon) / (positive + negative + 2 * self.epsilon)
        return -share.clamp(self.clamp, 1 - self.clamp).log()

    def log_odds_slopes(self, energies: Energies) -> Energies:
        """Return the derivative of `log_odds` by each energy."""
        positive, negative = energies
        return (positive + self.epsilon).reciprocal(), -(negative + self.epsilon).reciprocal()

    def bce_slopes(self, energies: Energies, target: Tensor) -> Energies:
        """Return the derivative of `bce` by each energy; none where the goodness is clamped."""
        positive, negative = (energy + self.epsilon for energy in energies)
        total = positive + negative
        right = torch.where(target, positive, negative)
        share = right / total
        free = (share >= self.clamp) & (share <= 1 - self.clamp)
        wrong_slope = free / total
        right_slope = wrong_slope - free / right
        return (
            torch.where(target, right_slope, wrong_slope),
            torch.where(target, wrong_slope, right_slope),
        )


@dataclass(frozen=True)
class ThresholdGoodness(Goodness):
    """FFA: the energy itself; probability sigmoid(scale·energy − theta).

    >>> goodness = ThresholdGoodness(theta=2.0, scale=0.5)
    >>> goodness.score((torch.tensor(4.0),)), goodness.probability((torch.tensor(4.0),))
    (tensor(2.), tensor(0.5000))
    """

    theta: float
    scale: float
    ranking: str = "energy"

    def score(self, energies: Energies) -> Tensor:
        """Return what candidates are ranked by: the scaled energy, probability or log-odds."""
        if self.ranking == "odds":
            return self.log_odds(energies)
        return energies[0] * self.scale if self.ranking == "energy" else self.probability(energies)

    def log_odds(self, energies: Energies) -> Tensor:
        """Return log(p / (1 − p)) of the probability."""
        return energies[0] * self.scale - self.theta

    def log_odds_slopes(self, energies: Energies) -> Energies:
        """Return the derivative of `log_odds` by the energy."""
        return (torch.full_like(energies[0], self.scale),)

    def bce_slopes(self, energies: Energies, target: Tensor) -> Energies:
        """Return the derivative of `bce` by the energy."""
        return ((self.probability(energies) - target.float()) * self.scale,)


KNOWN_SLOPES = (SymmetricGoodness, ThresholdGoodness)  # whose slopes are theirs; no subclass
