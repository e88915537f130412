"""Compile loops before they are needed. Nothing here imports torch."""

from __future__ import annotations

import numpy as np

from sffa.kernels import compiled_loss, tasks


def compile_last() -> None:
    """Compile what a training step needs after its first pass."""
    _compile_loss()
    for task in (tasks.scatter, tasks.differentiate, tasks.adam, tasks.label_gradients):
        _ = task.address


def _compile_loss() -> None:
    """Compile what differentiates a layer's loss."""
    candidates, right = np.zeros((1, 1), np.int32), np.zeros(1, np.int64)
    none, one = np.empty(0, np.float32), np.ones((1, 1), np.float32)
    sums = compiled_loss.find_right(candidates, right.copy(), none, right)
    options = compiled_loss.LossOptions(True, 1.0, 1e-9, 1e-4, compiled_loss.ADD, 1.0, True)
    aims, energy = (candidates, right, none, sums), np.ones((1, 1, 2), np.float32)
    compiled_loss.layer_slopes(aims, energy, one, 2, options, energy.copy(), one.copy())
