"""Update dynamics of SFFA on one positive sample (appendix D): closed forms and the real thing.

A point is the pair of energies (E, I) of the positive and the negative half. With R = I/E and
S = 1/(E + I), a gradient step of rate α on −log p(E, I), for an input of norm one, scales the
positive latents by 1 + 2αRS and the negative ones by 1 − 2αS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sffa.errors import ConfigurationError

Floats = NDArray[np.float64]
Activation = Literal["identity", "relu", "sigmoid"]

CASES = {"A": (0.02, 0.04), "B": (0.3, 1.0)}
ALPHA = 0.1
STEPS = 20

_FUNCTIONS = {"identity": lambda z: z, "relu": torch.relu, "sigmoid": torch.sigmoid}


@dataclass(frozen=True)
class Path:
    """Energies along the updates, the start included: ``positive`` and ``negative`` (steps + 1)."""

    positive: Floats
    negative: Floats

    @property
    def goodness(self) -> Floats:
        """Share of the positive energy at each point."""
        return self.positive / (self.positive + self.negative)

    @property
    def total(self) -> Floats:
        """All the energy at each point."""
        return self.positive + self.negative


def factors(positive: float, negative: float) -> tuple[float, float]:
    """Return R = I/E and S = 1/(E + I).

    >>> factors(1.0, 3.0)
    (3.0, 0.25)
    """
    if not (positive > 0 and negative >= 0):
        raise ConfigurationError(
            f"energies must be positive and non-negative, got ({positive}, {negative})"
        )
    return negative / positive, 1 / (positive + negative)


def step(positive: float, negative: float, alpha: float) -> tuple[float, float]:
    """Return the energies after one update, as the paper's recurrence has them (eq. 10)."""
    ratio, inverse = factors(positive, negative)
    grown = (1 + 2 * alpha * ratio * inverse) ** 2 * positive
    shrunk = (1 - 2 * alpha * inverse) ** 2 * negative
    return grown, shrunk


def direction(positive: float, negative: float, alpha: float) -> float:
    """Return the slope ΔI/ΔE of an update (eq. 15): −(1 − αS)/(1 + αRS); −1 in the limit αS → 0."""
    ratio, inverse = factors(positive, negative)
    return -(1 - alpha * inverse) / (1 + alpha * ratio * inverse)


def gained_activity(positive: float, negative: float, alpha: float) -> float:
    """Return what an update adds to E + I: 4α²S²I(1 + R), never negative (eq. 13)."""
    ratio, inverse = factors(positive, negative)
    return 4 * alpha**2 * inverse**2 * negative * (1 + ratio)


def goodness_rises(positive: float, negative: float, alpha: float) -> bool:
    """Whether an update raises the goodness: exactly if αS(1 − R) < 1.

    The paper's condition 2αS < 1 is sufficient; case A starts outside it.
    """
    ratio, inverse = factors(positive, negative)
    return alpha * inverse * (1 - ratio) < 1


def simulate(positive: float, negative: float, alpha: float = ALPHA, steps: int = STEPS) -> Path:
    """Follow the recurrence for some steps.

    >>> simulate(0.3, 1.0, steps=1).total.round(4).tolist()
    [1.3, 1.4026]
    """
    points = [(positive, negative)]
    for _ in range(steps):
        points.append(step(*points[-1], alpha))
    energies = np.array(points)
    return Path(energies[:, 0], energies[:, 1])


def closed_gradient(weight: Tensor, x: Tensor, activation: Activation = "relu") -> Tensor:
    """Return the gradient (inputs, neurons) of −log p of one layer, positive neurons first.

    Positive neurons: −2RS·h·f'·x; negative ones: 2S·h·f'·x (eqs. 5 and 7).
    """
    drive = x @ weight
    h, slope = _value_and_slope(drive, activation)
    half = len(h) // 2
    energy, rival = h[:half].square().sum(), h[half:].square().sum()
    inverse = 1 / (energy + rival)
    factor = torch.full_like(h, float(2 * inverse))
    factor[:half] *= -rival / energy
    return x[:, None] * (factor * h * slope)


def autograd_gradient(weight: Tensor, x: Tensor, activation: Activation = "relu") -> Tensor:
    """Return the same gradient as `closed_gradient`, as automatic differentiation finds it."""
    leaf = weight.detach().clone().requires_grad_()
    positive, negative = _energies(leaf, x, activation)
    loss = -(positive / (positive + negative)).log()
    return torch.autograd.grad(loss, leaf)[0]


def descend(
    positive: float,
    negative: float,
    alpha: float = ALPHA,
    steps: int = STEPS,
    activation: Activation = "identity",
    neurons: int = 4,
) -> Path:
    """Train a real layer from the given energies by automatic differentiation and give its path.

    With ``identity`` it is the recurrence; with ``relu`` as long as 2αS < 1. Beyond that the
    negative neurons change sign in one update, and a ReLU layer's negative energy drops to zero.

    >>> path = descend(0.3, 1.0, steps=20)
    >>> bool(path.goodness[-1] > path.goodness[0])
    True
    """
    factors(positive, negative)
    x = torch.full((4,), 0.5, dtype=torch.float64)
    level = torch.tensor([positive, negative], dtype=torch.float64) / neurons
    weight = x[:, None] * level.sqrt().repeat_interleave(neurons)
    points = [_energies(weight, x, activation)]
    for _ in range(steps):
        weight = weight - alpha * autograd_gradient(weight, x, activation)
        points.append(_energies(weight, x, activation))
    energies = np.array([[float(e), float(i)] for e, i in points])
    return Path(energies[:, 0], energies[:, 1])


def _energies(weight: Tensor, x: Tensor, activation: Activation) -> tuple[Tensor, Tensor]:
    h, _ = _value_and_slope(x @ weight, activation)
    half = len(h) // 2
    return h[:half].square().sum(), h[half:].square().sum()


def _value_and_slope(drive: Tensor, activation: Activation) -> tuple[Tensor, Tensor]:
    """Return f(z) and f'(z)."""
    if activation not in _FUNCTIONS:
        raise ConfigurationError(
            f"unknown activation '{activation}' (known: {', '.join(_FUNCTIONS)})"
        )
    h: Tensor = _FUNCTIONS[activation](drive)
    if activation == "identity":
        return h, torch.ones_like(h)
    if activation == "relu":
        return h, (drive > 0).to(h)
    return h, h * (1 - h)
