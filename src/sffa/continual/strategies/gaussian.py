"""Statistics in place of examples: pseudo-examples from low-rank Gaussians of each class (ours)."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from sffa.continual.strategies.base import Strategy
from sffa.continual.strategies.buffer import shares
from sffa.continual.strategies.mixture import (
    Mixture,
    concatenate,
    draw,
    fit,
    join_example,
    reduced,
)
from sffa.continual.strategies.restored import INTEGERS, check_among, check_tasks, checked
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.core.batch import Batch, Clock
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, ModelFileError, nearest

Stored = Literal["float32", "float16", "int8"]
STORED: tuple[Stored, ...] = get_args(Stored)
_Array = np.ndarray[Any, Any]
_HALF = 65504.0  # the largest number of 16 bits
_MOMENTS = ("mean", "spread", "residual")
_NAMES = ("group", "label", "task")
_MOVED = 0.01  # share of a deviation by which the units may move before mixtures follow
_MOST = 4  # times as many pseudo-examples as new ones in a step, unless a number is given


class Gaussian(Strategy):
    """Train on x = m + Sᵀu + r·v, drawn from what each past class left; no example is kept.

    After an experience, the inputs of each class leave a mixture of ``parts`` Gaussians: the share
    of each, its mean m, ``rank`` principal directions S as long as the deviations along them, and
    the deviation r of each feature that they leave. Each later step draws a part of the mixture,
    and u and v from the standard normal distribution, by the clock; past classes have equal shares
    of the ``batch``. A class that comes back has its mixture merged with the new one.

    Mixtures are of standardised inputs. Pseudo-examples are numbers in the stream's units, bytes as
    shares of 255; they are not cut off at black and white, which costs six points on Split-FMNIST.

    Memory: (rank + 2)·features numbers for each part of each class. The mean of a class of fewer
    than two examples is an example.

    Parameters
    ----------
    parts
        Gaussians for each class; fewer for a class of fewer than ten times as many examples.
    rank
        Principal directions of each.
    batch
        Pseudo-examples in a step. Unless given, as many of each past class as there are new ones of
        each class at hand, but no more than four times as many as new ones in all.
    dtype
        How numbers are kept: ``"float32"``, ``"float16"``, or ``"int8"`` with a scale for each
        direction.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = Gaussian(parts=1, rank=2)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> [tuple(strategy.buffers[name].shape) for name in ("mean", "spread", "residual")]
    [(10, 64), (10, 2, 64), (10, 64)]
    """

    transient = frozenset({"_opened", "_by_class"})
    _by_class: tuple[_Array, _Array] | None = None

    def __init__(
        self,
        parts: int = 5,
        rank: int = 20,
        batch: int | None = None,
        dtype: Stored = "float16",
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(seed, batch_size)
        if dtype not in STORED:
            raise ConfigurationError(
                f"unknown gaussian dtype '{dtype}'{nearest(dtype, list(STORED))}; "
                f"known: {', '.join(STORED)}"
            )
        if min(parts - 1, rank, batch or 0) < 0 or max(parts, rank, batch or 0) >= 2**31:
            raise ConfigurationError(
                "gaussian needs parts of 1 or more, a rank and a batch of 0 or more, below 2**31, "
                f"got {parts}, {rank} and {batch}"
            )
        self.parts = parts
        self.rank = rank
        self.batch = batch
        self.dtype: Stored = dtype
        self._opened: Mixture | None = None

    def extra_batch(self, clock: Clock) -> Batch | None:
        """Return pseudo-examples of all past classes, equally many of each."""
        wanted = self._wanted() if "count" in self.buffers else 0
        if not wanted:
            return None
        rng = generator(self.seed, "gaussian", clock.experience, clock.epoch, clock.batch)
        parts = torch.from_numpy(self._parts_to_draw(wanted, rng))
        return self._labelled(draw(self._mixture(), parts, rng), parts)

    def means(self) -> Batch:
        """Return the mean of every part with its label, in the units of the stream."""
        found = self._mixture()
        return self._labelled(found.mean, torch.arange(len(found)))

    def _labelled(self, x: Tensor, parts: Tensor) -> Batch:
        """Return standardised examples of some parts as a batch in the units of the stream."""
        y, task = self.buffers["label"][parts], self.buffers["task"][parts]
        x = torch.addcmul(self.buffers["shift"], x, self.buffers["scale"])
        return Batch(x, y, None if int(task.min()) < 0 else task)

    def before_experience(self, learner: Learner, experience: Experience) -> None:
        """Keep how many classes share the new examples of a step."""
        self.buffers["new"] = torch.tensor(len(experience.classes))

    def _wanted(self) -> int:
        """Return how many pseudo-examples a step has."""
        if self.batch is not None:
            return self.batch
        each = self.batch_size / max(int(self.buffers.get("new", 1)), 1)
        return min(round(each * len(self._parts_by_class()[1])), _MOST * self.batch_size)

    def _parts_by_class(self) -> tuple[_Array, _Array]:
        """Return the parts, one past class after the other, and the place of the last of each."""
        if self._by_class is None:
            keys = np.stack([self.buffers[name].numpy() for name in _NAMES], axis=1)
            _, group, size = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
            self._by_class = np.argsort(group.reshape(-1), kind="stable"), np.cumsum(size) - 1
        return self._by_class

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Fit what each class of this experience leaves; no example stays."""
        if self.batch == 0:
            return
        view = experience.train
        self._follow_scale(learner)
        original = view.original
        for place, label in enumerate(np.unique(original.numpy()).tolist()):
            batch = view.take(original == label)
            task = -1 if batch.task is None else int(torch.as_tensor(batch.task).reshape(-1)[0])
            names = dict(zip(_NAMES, (label, int(batch.y[0]), task), strict=True))
            self._keep(self._standardised(batch.x), names, (experience.index, place))

    def _follow_scale(self, learner: Learner) -> None:
        """Express the mixtures in the learner's units, or nearly: these may follow a stream."""
        shift, scale = (tensor.cpu().numpy() for tensor in (learner.mean, learner.std))
        if "count" in self.buffers:
            away = (self.buffers["shift"].numpy() - shift) / scale
            ratio = self.buffers["scale"].numpy() / scale
            if float(np.maximum(np.abs(away), np.abs(ratio - 1)).max()) <= _MOVED:
                return
            found, factor = self._mixture(), torch.from_numpy(ratio)
            mean = found.mean * factor + torch.from_numpy(away)
            self._store(Mixture(found.count, mean, found.spread * factor, found.residual * factor))
        self.buffers["shift"], self.buffers["scale"] = torch.tensor(shift), torch.tensor(scale)

    def _keep(self, x: Tensor, names: dict[str, int], moment: tuple[int, int]) -> None:
        """Keep the mixture of a class's examples; merge it with what the class left before."""
        places = self._places_of(names)
        if len(places) and len(x) == 1 and join_example(self._mixture(), places, x[0].numpy()):
            self._store(self._mixture())
            return
        found = fit(x, self.parts, self.rank, generator(self.seed, "mixture", *moment))
        known = torch.from_numpy(places)
        old = self._mixture() if "count" in self.buffers else found.take(known)
        merged = reduced(concatenate([old.take(known), found]), self.parts)
        if len(merged) == len(places):  # so it is for every call of a long stream
            self._store(old.replaced(known, merged))
            return
        stays = torch.from_numpy(np.delete(np.arange(len(old)), places))
        for name, value in names.items():
            before = self.buffers[name][stays] if name in self.buffers else stays
            self.buffers[name] = torch.cat([before, torch.full((len(merged),), value)])
        self._by_class = None
        self._store(concatenate([old.take(stays), merged]))

    def _places_of(self, names: dict[str, int]) -> _Array:
        """Return the places of the parts that a class has left."""
        if "count" not in self.buffers:
            return np.arange(0)
        same = [self.buffers[name].numpy() == value for name, value in names.items()]
        return np.flatnonzero(same[0] & same[1] & same[2])

    def _parts_to_draw(self, wanted: int, rng: np.random.Generator) -> _Array:
        """Draw the part of each pseudo-example: equally many of a class, parts by their counts."""
        order, last = self._parts_by_class()
        classes = np.arange(len(last))
        if wanted % len(classes):  # what is left over goes to others in every step
            classes = rng.permutation(classes)
        ends = np.cumsum(self.buffers["count"].numpy()[order], dtype=np.float64)
        first = np.concatenate([[0.0], ends[last[:-1]]])
        drawn = np.repeat(classes, shares(wanted, len(classes)))
        marks = first[drawn] + rng.random(wanted) * (ends[last] - first)[drawn]
        places = np.minimum(np.searchsorted(ends, marks, side="right"), last[drawn])
        return np.asarray(order[places])

    def _standardised(self, x: Tensor) -> Tensor:
        """Return examples (N, ...) as (N, D) in the units of the mixtures."""
        unit = 255.0 if x.dtype == torch.uint8 else 1.0
        return (x.flatten(1).float() / unit - self.buffers["shift"]) / self.buffers["scale"]

    def _store(self, mixture: Mixture) -> None:
        """Write numbers as ``dtype`` has them; 8 bits with a scale for each vector."""
        self.buffers["count"] = mixture.count
        for name in _MOMENTS:
            values = getattr(mixture, name)
            if self.dtype == "int8":
                scale = values.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / 127
                self.buffers[f"{name}_scale"] = scale
                values = (values / scale).round().to(torch.int8)
            elif self.dtype == "float16":
                values = values.clamp(-_HALF, _HALF).half()
            self.buffers[name] = values
        self._opened = None

    def _mixture(self) -> Mixture:
        """Return the numbers as they are kept, as float32."""
        if self._opened is None:
            found = {"count": self.buffers["count"]}
            for name in _MOMENTS:
                found[name] = self.buffers[name].float()
                if f"{name}_scale" in self.buffers:
                    found[name] = found[name] * self.buffers[f"{name}_scale"]
            self._opened = Mixture(**{field.name: found[field.name] for field in fields(Mixture)})
        return self._opened

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse mixtures that are none, of other features or of labels that nobody met."""
        if "new" in self.buffers and int(checked(self.buffers, "new", (), INTEGERS)) < 1:
            raise ModelFileError("the buffer 'new' is not positive")
        if {"count", *_MOMENTS, *_NAMES}.isdisjoint(self.buffers):
            return
        stored = getattr(torch, self.dtype)
        count = checked(self.buffers, "count", (None,))
        shapes = {"mean": (len(count),), "spread": (len(count), None), "residual": (len(count),)}
        for name in _MOMENTS:
            checked(self.buffers, name, (*shapes[name], learner.inputs), (stored,))
            if stored == torch.int8:
                wanted = *self.buffers[name].shape[:-1], 1
                checked(self.buffers, f"{name}_scale", wanted)
        for name in _NAMES:
            checked(self.buffers, name, (len(count),), INTEGERS)
        units = tuple(learner.mean.shape)
        positive = count, checked(self.buffers, "scale", units)
        checked(self.buffers, "shift", units)
        if not len(count) or not all(bool((numbers > 0).all()) for numbers in positive):
            raise ModelFileError("a mixture of no examples, or features of no spread")
        check_among(self.buffers["label"], learner.classes, "label")
        check_tasks(self.buffers["task"], "task", learner)

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `tensors` returned."""
        super().restore(tensors)
        self._opened = self._by_class = None
