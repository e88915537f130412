"""Probability surfaces of FFA and SFFA (appendix B), from the goodness functions themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from sffa.core.goodness import SymmetricGoodness, ThresholdGoodness

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """A probability over a plane: ``p[row, column]`` at ``y[row]`` and ``x[column]``.

    >>> surface = sffa_surface()
    >>> surface.p.shape == (len(surface.y), len(surface.x))
    True
    """

    x: Floats
    y: Floats
    p: Floats


def ffa_surface(limit: float = 6.0, points: int = 61) -> Surface:
    """Return sigmoid(activity − θ) over activity (x) and threshold θ (y), both from 0 to ``limit``.

    >>> round(float(ffa_surface(limit=2.0, points=3).p[2, 0]), 3)  # the paper's θ = 2, at rest
    0.119
    """
    axis = torch.linspace(0, limit, points, dtype=torch.float64)
    rows = [ThresholdGoodness(float(theta), 1.0).probability((axis,)) for theta in axis]
    return Surface(axis.numpy(), axis.numpy(), torch.stack(rows).numpy())


def sffa_surface(limit: float = 1.0, points: int = 61, epsilon: float = 1e-9) -> Surface:
    """Return p(E, I) over the positive (x) and the negative (y) energy, both from 0 to ``limit``.

    >>> sffa_surface(points=3).p[0, 1:], sffa_surface(points=3).p[0, 0]
    (array([1., 1.]), np.float64(0.5))
    """
    axis = torch.linspace(0, limit, points, dtype=torch.float64)
    p = SymmetricGoodness(epsilon, 0.0).score((axis[None, :], axis[:, None]))
    return Surface(axis.numpy(), axis.numpy(), p.numpy())
