"""Accuracy of a learner, in all and by layer."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.core.batch import Array, Task, part_of, tensor_of
from sffa.core.learner import Learner


@torch.no_grad()
def accuracy(
    learner: Learner,
    x: Tensor | Array,
    y: Tensor | Array,
    task: Task = None,
    block: int | None = None,
) -> tuple[float, list[float]]:
    """Return the percentage of right predictions, and each layer's own where there are such.

    >>> import torch, sffa
    >>> net = sffa.Network(4, hidden=(40, 40), k=5, classes=range(2))
    >>> percent, layers = accuracy(net, torch.eye(4), torch.tensor([0, 0, 1, 1]))
    >>> 0 <= percent <= 100, len(layers)
    (True, 2)
    """
    examples = tensor_of(x, learner.device)
    labels = learner.columns(y)
    block = block or learner.rows_at_once
    right: Tensor | int = 0
    by_layer: Tensor | int = 0
    for start in range(0, len(labels), block):
        part, wanted = examples[start : start + block], labels[start : start + block]
        given = part_of(task, start, block)
        candidates = learner.candidates(len(part), given)
        scores = learner.layer_scores(part, given)
        best = candidates.expand(len(scores), -1, -1).gather(2, scores.argmax(2, keepdim=True))
        by_layer = by_layer + (best.squeeze(2) == wanted).sum(dim=1)
        chosen = candidates.gather(1, scores.mean(dim=0).argmax(dim=1, keepdim=True)).squeeze(1)
        right = right + (chosen == wanted).sum()
    percent = 100.0 / max(len(labels), 1)
    layers = (by_layer * percent).tolist() if isinstance(by_layer, Tensor) else []
    return float(right) * percent, layers if learner.depth else []
