"""Replay: train on stored examples together with the new ones."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.continual.strategies.base import Strategy
from sffa.continual.strategies.buffer import POLICIES, Policy, keep
from sffa.continual.strategies.restored import (
    INTEGERS,
    check_examples,
    check_tasks,
    checked,
)
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.core.batch import Batch, Clock
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, nearest


class Replay(Strategy):
    """A buffer of past examples; each step adds up to ``batch`` of them to the new ones.

    Each pass goes through the buffer in a new order. Memory: ``capacity`` examples as the dataset
    has them.

    Parameters
    ----------
    capacity
        Examples kept.
    batch
        Stored examples in a step; as many as new ones unless given.
    policy
        Who shares the capacity equally: the ``"experience"``s seen, or each ``"class"``;
        ``"reservoir"`` is a random choice from all examples seen.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = Replay(capacity=50)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> tuple(strategy.buffers["x"].shape)
    (50, 64)
    """

    def __init__(
        self,
        capacity: int = 500,
        batch: int | None = None,
        policy: Policy = "experience",
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(seed, batch_size)
        if policy not in POLICIES:
            raise ConfigurationError(
                f"unknown replay policy '{policy}'{nearest(policy, list(POLICIES))}; "
                f"known: {', '.join(POLICIES)}"
            )
        if capacity < 0 or (batch is not None and batch < 1):
            raise ConfigurationError(
                f"replay needs a capacity of 0 or more and a batch of 1 or more, got {capacity} "
                f"and {batch}"
            )
        self.capacity = capacity
        self.batch = batch
        self.policy: Policy = policy

    @property
    def needs_boundaries(self) -> bool:
        """Whether experiences share the capacity; the other policies need none."""
        return self.policy == "experience"

    def check(self, stream: AnyStream) -> None:
        """Refuse a buffer that cannot hold one example of each group."""
        labels = {label for test in stream.tests for label in test.labels}
        experiences = stream.length or 1
        groups = {"experience": experiences, "class": len(labels), "reservoir": 1}[self.policy]
        if 0 < self.capacity < groups:
            what = "classes" if self.policy == "class" else "experiences"
            raise ConfigurationError(
                f"a buffer of {self.capacity} is smaller than the number of {what} that share it, "
                f"{groups}; use replay.capacity={groups} or more"
            )

    def extra_batch(self, clock: Clock) -> Batch | None:
        """Return the next part of the buffer, the whole if it fits."""
        count = len(self.buffers.get("y", ()))
        if not count:
            return None
        most = self.batch or self.batch_size
        if count <= most:
            return self._stored(slice(None))
        parts = -(-count // most)
        turn, part = divmod(clock.batch, parts)
        rng = generator(self.seed, "replay", clock.experience, clock.epoch, turn)
        places = rng.permutation(count)[part * most : (part + 1) * most]
        return self._stored(torch.from_numpy(places))

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Put examples of this experience into the buffer, and make room for them."""
        if not self.capacity:
            return
        view = experience.train
        rng = generator(self.seed, "buffer", experience.index)
        keys = torch.from_numpy(rng.random(len(view)))
        new = {"key": keys, "group": self._groups(experience)}
        old = {name: self.buffers.get(name, tensor[:0]) for name, tensor in new.items()}
        keys = torch.cat([old["key"], new["key"]])
        groups = torch.cat([old["group"], new["group"]])
        if len(torch.unique(groups)) > self.capacity:
            raise ConfigurationError(
                f"a buffer of {self.capacity} is smaller than the number of groups that share it; "
                "use a larger replay.capacity or replay.policy=reservoir"
            )
        kept = torch.from_numpy(keep(groups.numpy(), keys.numpy(), self.capacity))
        stored = len(old["key"])
        fresh = view.take(kept[kept >= stored] - stored)
        stays = kept[kept < stored]
        self.buffers.update(self._concatenated(stays, fresh))
        order = torch.cat([stays, kept[kept >= stored]])
        self.buffers["key"], self.buffers["group"] = keys[order], groups[order]

    def observe(self, learner: Learner, experience: Experience) -> None:
        """Put examples of a batch into the buffer, as `after_experience` does."""
        self.after_experience(learner, experience)

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse stored examples, labels and tasks that do not go together."""
        if {"x", "y", "task", "key", "group"}.isdisjoint(self.buffers):
            return
        count = check_examples(self.buffers, ("x", "y"), learner, stream)
        check_tasks(checked(self.buffers, "task", (count,), INTEGERS), "task", learner)
        checked(self.buffers, "key", (count,), (torch.float64,))
        checked(self.buffers, "group", (count,), INTEGERS)

    def _groups(self, experience: Experience) -> Tensor:
        if self.policy == "class":
            return experience.train.y
        number = experience.index if self.policy == "experience" else 0
        return torch.full((len(experience.train),), number)

    def _concatenated(self, stays: Tensor, fresh: Batch) -> dict[str, Tensor]:
        task = -1 if fresh.task is None else fresh.task
        tasks = torch.as_tensor(task).reshape(-1).expand(len(fresh.y))
        new = {"x": fresh.x, "y": fresh.y, "task": tasks}
        if "y" not in self.buffers:
            return {name: tensor.contiguous() for name, tensor in new.items()}
        return {name: torch.cat([self.buffers[name][stays], new[name]]) for name in new}

    def _stored(self, places: Tensor | slice) -> Batch:
        x, y, task = (self.buffers[name][places] for name in ("x", "y", "task"))
        return Batch(x, y, None if bool((task < 0).any()) else task)
