"""Adam (Kingma 2015), as torch computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sffa.errors import ConfigurationError, ModelFileError
from sffa.lite.formulas import Array, Product

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
_ROWS = 128  # of a matrix that are updated together, so that nothing of its size is made


@dataclass
class Moments:
    """Steps taken, and decaying means of a gradient and of its square."""

    step: int
    mean: Array
    square: Array


class Adam:
    """One step size, and the moments of each block of weights by its name."""

    def __init__(self, lr: float) -> None:
        if not isinstance(lr, int | float) or not 0 < lr < np.inf:
            raise ConfigurationError(f"lr must be positive, got {lr}")
        self.lr = float(lr)
        self.moments: dict[str, Moments] = {}

    def step(self, name: str, weights: Array, gradient: Array | Product) -> None:
        """Change weights in place, some rows at a time."""
        if name not in self.moments:
            self.moments[name] = Moments(0, np.zeros_like(weights), np.zeros_like(weights))
        kept = self.moments[name]
        kept.step += 1
        size = self.lr / (1 - _BETA1**kept.step)
        root = (1 - _BETA2**kept.step) ** 0.5
        for start in range(0, len(weights), _ROWS):
            rows = slice(start, start + _ROWS)
            g, mean, square = gradient[rows], kept.mean[rows], kept.square[rows]
            mean += (1 - _BETA1) * (g - mean)
            square *= _BETA2
            square += (1 - _BETA2) * g * g
            weights[rows] -= size * mean / (np.sqrt(square) / root + _EPSILON)

    def forget(self, name: str) -> None:
        """Begin anew with weights that grew: their new entries have seen no step."""
        self.moments.pop(name, None)

    def arrays(self) -> dict[str, Array]:
        """Return the moments as a model file names them."""
        found: dict[str, Array] = {}
        for name, kept in self.moments.items():
            found[f"adam.step.{name}"] = np.array(kept.step, np.float32)
            found[f"adam.exp_avg.{name}"] = kept.mean
            found[f"adam.exp_avg_sq.{name}"] = kept.square
        return found

    def restore(self, name: str, weights: Array, arrays: dict[str, Any]) -> None:
        """Take the moments of one block from a file's arrays, all of them or none."""
        keys = ("step", "exp_avg", "exp_avg_sq")
        found = [arrays.pop(f"adam.{key}.{name}", None) for key in keys]
        if all(each is None for each in found):
            return
        step, mean, square = found
        if step is None or step.shape != () or not 1 <= float(step) < 2**53:
            raise ModelFileError(f"Adam's steps of {name} are missing")
        wanted = weights.shape, np.dtype(np.float32)
        if any(each is None or (each.shape, each.dtype) != wanted for each in (mean, square)):
            raise ModelFileError(f"Adam's moments of {name} are missing, or of another shape")
        if not np.isfinite(mean).all() or not (square >= 0).all():
            raise ModelFileError(f"Adam's moments of {name} are not finite")
        moments = (each.astype(weights.dtype, copy=False) for each in (mean, square))
        self.moments[name] = Moments(int(step), *moments)
