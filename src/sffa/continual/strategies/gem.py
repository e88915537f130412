"""Gradient episodic memory (Lopez-Paz 2017): never step against what was learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from torch import Tensor

from sffa.continual.strategies.episodes import EpisodePolicy, EpisodicMemory
from sffa.core import Clock, Learner
from sffa.errors import ConfigurationError

_Array = np.ndarray[Any, Any]
_RIDGE = 1e-3
_COLUMNS = 1 << 17


class GEM(EpisodicMemory):
    """Bend a gradient that would raise the loss on stored examples of an earlier experience.

    One gradient for each past experience, from its stored examples. If any has a negative product
    with the current gradient, g becomes g + Gᵀv with v from `combination`. Beside the stored
    examples, a step needs room for one gradient of each past experience; it is not kept.

    Parameters
    ----------
    patterns
        Examples kept of each experience, or class, m in the paper.
    strength
        Least weight of each past gradient, γ in the paper.
    policy
        What has a gradient of its own: each past ``"experience"``, or each ``"class"`` that the
        present one lacks, which bounds memory and time in a stream of many experiences.
    sample
        Stored examples of each that a step draws; None: all of them, as in the paper.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = GEM(patterns=10)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> tuple(strategy.buffers["x.4"].shape)  # of the fifth experience
    (10, 64)
    """

    sample: int | None = None  # also where a pickle of earlier versions has none

    def __init__(
        self,
        patterns: int = 20,
        strength: float = 0.5,
        policy: EpisodePolicy = "experience",
        sample: int | None = None,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(patterns, policy, seed=seed, batch_size=batch_size)
        if strength < 0:
            raise ConfigurationError(f"gem.strength must not be negative, got {strength}")
        if sample is not None and sample < 1:
            raise ConfigurationError(f"gem.sample must be 1 or more, got {sample}")
        self.strength = strength
        self.sample = sample

    def after_backward(self, learner: Learner, clock: Clock) -> None:
        """Make the current gradient agree with the past ones."""
        past = self.past(clock)
        if not past:
            return
        if self.sample is not None:
            past = self.draw_each(past, self.sample, "gem", clock)
        rows = self.rows(learner, len(past) + 1)
        for row, batch in zip(rows[1:], past, strict=True):
            self.write(row, learner, batch)
        self.write_current(rows[0], learner)
        gram = gram_matrix(rows)
        if (gram[0, 1:] < 0).any():
            weights = combination(gram[1:, 1:], gram[0, 1:], self.strength)
            rows[0].add_(torch.from_numpy(weights).float() @ rows[1:])
            self.read_current(rows[0], learner)


def combination(gram: _Array, products: _Array, least: float) -> _Array:
    """Return argmin ½vᵀ(GGᵀ + 10⁻³)v + (Gg)ᵀv with v ≥ least, from GGᵀ and Gg.

    With u = v − least ≥ 0 and the Cholesky factor L of the matrix this is a least-squares problem,
    ‖Lᵀu + L⁻¹q‖², which SciPy solves.

    >>> combination(np.eye(1), np.array([-3.0]), 0.5).round(2).tolist()
    [3.0]
    """
    matrix = (gram + gram.T) / 2 + _RIDGE * np.eye(len(gram))
    linear = products + matrix @ np.full(len(gram), least)
    lower = np.linalg.cholesky(matrix)
    u, _ = nnls(lower.T, -solve_triangular(lower, linear, lower=True))
    return np.asarray(u + least)


def gram_matrix(rows: Tensor) -> _Array:
    """Return all inner products of the rows in double precision, some columns at a time."""
    total = torch.zeros(len(rows), len(rows), dtype=torch.float64)
    for part in torch.split(rows, _COLUMNS, dim=1):
        wide = part.double().cpu()
        total += wide @ wide.T
    return total.numpy()
