"""Baselines in closed form: sums over all examples seen, and no gradient.

What such a learner keeps is the same in whatever order examples come, to rounding, so it forgets
nothing; what it cannot do is learn features.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from sffa.core.batch import Array, Task
from sffa.core.config import Seed, Strict, Widths
from sffa.core.growth import Growth
from sffa.core.learner import Learner, listed
from sffa.core.seeds import generator
from sffa.errors import DataError, ModelFileError


class ClosedForm(Learner):
    """Sums over examples, and the linear scores that follow from them.

    ``gram`` (F, F) is Σ φφᵀ and ``sums`` (classes, F) is Σ φ by class, φ the features of an
    example; ``count`` (classes,) is the number of examples. All classes share them: in Task IL the
    candidates are those of the task.
    """

    closed_form: ClassVar[bool] = True
    gram: Tensor
    sums: Tensor
    count: Tensor

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__(inputs)
        self.register_buffer("gram", torch.zeros(size, size))
        self.register_buffer("sums", torch.zeros(0, size))
        self.register_buffer("count", torch.zeros(0))
        self._solved: tuple[Tensor, Tensor] | None = None

    @abstractmethod
    def features(self, x: Tensor | Array) -> Tensor:
        """Return the features φ (batch, F) of examples."""

    @abstractmethod
    def solve(self) -> tuple[Tensor, Tensor]:
        """Return weights (classes, F) and biases (classes,) of the scores, in double precision."""

    @torch.no_grad()
    def observe(self, x: Tensor, y: Tensor, task: Task = None) -> None:
        """Add a batch to the sums."""
        column = self.columns(y)
        if len(column) != len(x):
            raise DataError(f"{len(x)} examples and {len(column)} labels do not match")
        self.targets(column, self.candidates(len(column), task))
        features = self.features(x)
        if not bool(features.isfinite().all()):
            raise DataError("an example has values that are not finite")
        chosen = F.one_hot(column, len(self.classes)).to(features.dtype)
        self.gram.addmm_(features.T, features)
        self.sums.addmm_(chosen.T, features)
        self.count.add_(chosen.sum(dim=0))
        self._solved = None

    def outputs(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return the scores (batch, candidates); where an example has no candidate, -inf."""
        if self._solved is None:
            weight, bias = self.solve()
            self._solved = weight.float(), bias.float()
        scores = F.linear(self.features(x), *self._solved)
        candidates = self.candidates(len(scores), task)
        found = scores.gather(1, candidates.clamp(min=0))
        return found.masked_fill(candidates < 0, -torch.inf)

    def loss(self, x: Tensor | Array, y: Tensor | Array, task: Task = None) -> Tensor:
        """Return the share of wrong predictions, which has no gradient."""
        column = self.columns(y)
        candidates = self.candidates(len(column), task)
        best = self.outputs(x, task).argmax(dim=1, keepdim=True)
        return (candidates.gather(1, best).squeeze(1) != column).float().mean()

    def grow(self, classes: list[int], task: int | None) -> list[Growth]:
        """See `Learner.grow`: empty sums for the classes; there are no parameters."""
        self.sums = torch.cat([self.sums, self.sums.new_zeros(len(classes), self.sums.shape[1])])
        self.count = torch.cat([self.count, self.count.new_zeros(len(classes))])
        self._solved = None
        return []

    @classmethod
    def restore(
        cls, config: dict[str, Any], classes: list[int], tensors: dict[str, Tensor]
    ) -> Self:
        """See `Learner.restore`: sums are as large as the file's."""
        size = cls.size_of(config)
        wanted = {"gram": (size, size), "sums": (len(classes), size), "count": (len(classes),)}
        for name, shape in wanted.items():
            if tuple(tensors[name].shape) != shape:
                raise ModelFileError(f"{name} has the shape {tuple(tensors[name].shape)}")
        learner = cls(**config)
        learner.classes = list(classes)
        learner.grow(list(classes), None)
        return learner

    @classmethod
    @abstractmethod
    def size_of(cls, config: dict[str, Any]) -> int:
        """Return F of a configuration, before anything is made of it."""


class RidgeConfig(Strict):
    """Ridge regression on random features."""

    inputs: int = Field(ge=1, description="features of an example")
    hidden: Widths = (1400, 1400)
    seed: Seed = Field(default=0, description="of the random features")
    features: int | None = Field(
        default=None, ge=1, description="random features; as wide as the first layer unless given"
    )
    strength: float = Field(default=1e-4, gt=0, description="of the penalty, by mean power")


class Ridge(ClosedForm, kind="ridge"):
    """Ridge regression on random ReLU features: W = (Σ φφᵀ + λ·I)⁻¹ Σ φyᵀ.

    φ = [relu(xA + b), 1] with A and b drawn once from the seed; y is the unit vector of the label;
    λ = ``strength`` times the mean power of a feature. Unlike a layer, ``features`` never learn.

    >>> net = Ridge(4, features=50, classes=range(2))
    >>> net.observe(torch.eye(4), torch.tensor([0, 0, 1, 1]))
    >>> net.predict(torch.eye(4)).tolist()
    [0, 0, 1, 1]
    """

    config: RidgeConfig

    def __init__(
        self,
        inputs: int,
        hidden: Iterable[int] = (1400, 1400),
        classes: Iterable[int] = (),
        seed: int = 0,
        **options: Any,
    ) -> None:
        config = RidgeConfig(inputs=inputs, hidden=hidden, seed=seed, **options)
        width = self.size_of(config.model_dump()) - 1
        super().__init__(inputs, width + 1)
        self.config = config
        rng = generator(seed, "random features")
        weight = rng.standard_normal((inputs, width), dtype=np.float32) * inputs**-0.5
        bias = rng.uniform(-1, 1, width).astype(np.float32)
        self.register_buffer("random", torch.from_numpy(weight), persistent=False)
        self.register_buffer("offset", torch.from_numpy(bias), persistent=False)
        known = listed(classes)
        if known:
            self.add_classes(known)

    @classmethod
    def size_of(cls, config: dict[str, Any]) -> int:
        """See `ClosedForm.size_of`: the random features and a constant."""
        checked = RidgeConfig(**config)
        return (checked.features or checked.hidden[0]) + 1

    def features(self, x: Tensor | Array) -> Tensor:
        """See `ClosedForm.features`."""
        random = torch.relu(torch.addmm(self.offset, self.prepare(x), self.random))  # type: ignore[arg-type]
        return torch.cat([random, random.new_ones(len(random), 1)], dim=1)

    def solve(self) -> tuple[Tensor, Tensor]:
        """See `ClosedForm.solve`."""
        gram = self.gram.double()
        power = gram.diagonal().mean()
        gram.diagonal().add_(self.config.strength * power + 1e-12)
        weight = torch.cholesky_solve(self.sums.double().T, torch.linalg.cholesky(gram)).T
        return weight, weight.new_zeros(len(weight))


class SLDAConfig(Strict):
    """Streaming linear discriminant analysis; it has no layers, ``hidden`` is everybody's."""

    inputs: int = Field(ge=1, description="features of an example")
    hidden: Widths = (1400, 1400)
    seed: Seed = Field(default=0, description="nothing is drawn from it")
    shrinkage: float = Field(default=1e-2, gt=0, le=1, description="towards equal variances")


class SLDA(ClosedForm, kind="slda"):
    """Streaming LDA (Hayes 2020) on standardised inputs: Gaussians with one covariance for all.

    Score of class k: μₖᵀΛx − ½μₖᵀΛμₖ with Λ = ((1−ε)Σ + ε·tr(Σ)/D·I)⁻¹, Σ the covariance within
    classes and ε the ``shrinkage``; all classes are equally likely.

    >>> net = SLDA(2, classes=range(2))
    >>> net.observe(
    ...     torch.tensor([[0.0, 0.1], [0.1, 0.0], [1.0, 0.9], [0.9, 1.0]]),
    ...     torch.tensor([0, 0, 1, 1]),
    ... )
    >>> net.predict(torch.tensor([[0.2, 0.1], [0.8, 0.8]])).tolist()
    [0, 1]
    """

    config: SLDAConfig

    def __init__(
        self,
        inputs: int,
        hidden: Iterable[int] = (1400, 1400),
        classes: Iterable[int] = (),
        seed: int = 0,
        **options: Any,
    ) -> None:
        config = SLDAConfig(inputs=inputs, hidden=hidden, seed=seed, **options)
        super().__init__(inputs, inputs)
        self.config = config
        known = listed(classes)
        if known:
            self.add_classes(known)

    @classmethod
    def size_of(cls, config: dict[str, Any]) -> int:
        """See `ClosedForm.size_of`: the inputs themselves."""
        return SLDAConfig(**config).inputs

    def features(self, x: Tensor | Array) -> Tensor:
        """See `ClosedForm.features`."""
        return self.prepare(x)

    def solve(self) -> tuple[Tensor, Tensor]:
        """See `ClosedForm.solve`; a class without examples is never predicted before others."""
        count = self.count.double()
        means = self.sums.double() / count.clamp(min=1)[:, None]
        within = self.gram.double() - means.T @ (count[:, None] * means)
        within /= count.sum().clamp(min=1)
        mean_variance = within.diagonal().mean().clamp(min=1e-12)
        shrink = self.config.shrinkage
        within.mul_(1 - shrink).diagonal().add_(shrink * mean_variance)
        weight = torch.linalg.solve(within, means.T).T
        bias = -0.5 * (weight * means).sum(dim=1)
        seen = count > 0
        return weight, bias.masked_fill(~seen, -1e30) if bool(seen.any()) else bias
