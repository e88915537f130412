"""Negatives: which wrong labels an example is shown with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from sffa.core.batch import Task
from sffa.core.learner import Learner
from sffa.errors import ConfigurationError
from sffa.extension import part_of

Negatives = Literal["all", "uniform", "hard"]
KINDS: tuple[Negatives, ...] = ("all", "uniform", "hard")


class NegativeScheme(ABC):
    """Which labels each example is contrasted with, drawn anew in every step.

    A class, an object or its name, ``module:Class``, is given as ``negatives`` of a `Trainer` or a
    run. What it draws must come from ``rng``, and it keeps nothing between
    steps: then a stopped run goes on to the same bits.

    >>> import torch, sffa
    >>> class Next(NegativeScheme):
    ...     def draw(self, learner, x, y, rng, task=None):
    ...         own = learner.columns(y)
    ...         return torch.stack([own, (own + 1) % len(learner.classes)], dim=1)
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(4))
    >>> loss = sffa.Trainer(net, negatives=Next()).step(torch.eye(4), torch.arange(4))
    """

    @abstractmethod
    def draw(
        self, learner: Learner, x: Tensor, y: Tensor, rng: np.random.Generator, task: Task = None
    ) -> Tensor | None:
        """Return columns (batch, labels), the right one among them, -1 for none; None: all."""


class Sampled(NegativeScheme):
    """An example's own label and others drawn evenly, ``count`` in all: many labels cost no more.

    Parameters
    ----------
    count
        Labels of each example; of no more than so many, all are taken.

    Examples
    --------
    >>> import torch, sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(50))
    >>> trainer = sffa.Trainer(net, negatives=Sampled(count=4))
    >>> loss = trainer.step(torch.eye(4), torch.tensor([3, 14, 15, 9]))
    """

    def __init__(self, count: int = 8) -> None:
        if count < 2:
            raise ConfigurationError(f"a contrast needs 2 labels or more, got count={count}")
        self.count = count

    def draw(
        self, learner: Learner, x: Tensor, y: Tensor, rng: np.random.Generator, task: Task = None
    ) -> Tensor | None:
        """See `NegativeScheme.draw`; the own label comes first."""
        column = learner.columns(y)
        others = learner.training_labels(column, task)
        if others.shape[1] <= self.count:
            return None
        keys = torch.from_numpy(rng.random(tuple(others.shape), dtype=np.float32)).to(others.device)
        keys.masked_fill_(others < 0, 2.0).masked_fill_(others == column[:, None], -1.0)
        return others.gather(1, keys.topk(self.count, dim=1, largest=False).indices)


def scheme_of(given: object) -> Negatives | NegativeScheme:
    """Return a kind by name, or the scheme that a class, an object or ``module:Class`` is."""
    return part_of(given, "negatives", NegativeScheme, KINDS)  # type: ignore[return-value]


def draw(
    kind: Negatives | NegativeScheme,
    learner: Learner,
    x: Tensor,
    y: Tensor,
    rng: np.random.Generator,
    task: Task = None,
) -> Tensor | None:
    """Return the labels to contrast each example with: all (None), or its own and one wrong one.

    ``uniform`` draws the wrong label evenly (the paper) from those that ``all`` would contrast the
    example with; ``hard`` in proportion to how good the network finds it. The pair is (batch, 2),
    true label first; where there is no wrong one, -1.
    """
    if kind == "all":
        return None
    if isinstance(kind, NegativeScheme):
        return kind.draw(learner, x, y, rng, task)
    column = learner.columns(y)
    others = learner.training_labels(column, task)
    weights = torch.ones(others.shape, dtype=torch.float64, device=others.device)
    if kind == "hard":
        weights = _goodness(learner, x, others, task)
    weights = weights.masked_fill((others < 0) | (others == column[:, None]), 0.0)
    draws = torch.from_numpy(rng.random(len(column), dtype=np.float32)).to(column.device)
    wrong = others.gather(1, _proportional(weights, draws)).squeeze(1)
    wrong = wrong.masked_fill(~(weights > 0).any(dim=1), -1)
    return torch.stack([column, wrong], dim=1)


def _goodness(learner: Learner, x: Tensor, columns: Tensor, task: Task) -> Tensor:
    """Return how good the network finds each example with the labels in ``columns``; some in -1."""
    count = len(learner.classes)
    scored = learner.candidates(len(columns), task)
    table = torch.zeros(len(columns), count + 1, dtype=torch.float64, device=columns.device)
    table.scatter_(1, scored.where(scored >= 0, count), learner.scores(x, task).double())
    return table.gather(1, columns.where(columns >= 0, count)).clamp(min=1e-9)


def _proportional(weights: Tensor, draws: Tensor) -> Tensor:
    """Choose a place in each row (batch, 1) with probability proportional to its weight."""
    cumulated = weights.cumsum(dim=1)
    level = draws.double()[:, None] * cumulated[:, -1:]
    return torch.searchsorted(cumulated, level, right=True).clamp(max=weights.shape[1] - 1)
