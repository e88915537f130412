"""A few examples of every experience, and their gradients as flat rows."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from sffa.continual.strategies.base import Strategy
from sffa.continual.strategies.restored import (
    INTEGERS,
    check_examples,
    check_tasks,
    checked,
)
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.core.batch import Batch, Clock, join
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, ModelFileError, nearest

EpisodePolicy = Literal["experience", "class"]
EPISODE_POLICIES: tuple[EpisodePolicy, ...] = get_args(EpisodePolicy)


class EpisodicMemory(Strategy):
    """Keep ``patterns`` random examples of each episode: an experience, or a class.

    Episodes by ``"experience"`` grow in number with the experiences. Those by ``"class"`` do not
    grow with a stream of many small ones; a class that comes back takes part in the draw again.
    """

    transient = frozenset({"_rows"})
    policy: EpisodePolicy = "experience"  # also where a pickle of earlier versions has none

    def __init__(
        self,
        patterns: int,
        policy: EpisodePolicy = "experience",
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(seed, batch_size)
        if patterns < 0:
            raise ConfigurationError(
                f"an episodic memory keeps 0 or more examples of an episode, got {patterns}"
            )
        if policy not in EPISODE_POLICIES:
            raise ConfigurationError(
                f"unknown policy '{policy}' of an episodic memory"
                f"{nearest(policy, list(EPISODE_POLICIES))}; known: {', '.join(EPISODE_POLICIES)}"
            )
        self.patterns = patterns
        self.policy = policy
        self._rows = torch.empty(0, 0)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle keeps: not the room for gradients."""
        return {**self.__dict__, "_rows": torch.empty(0, 0)}

    def before_experience(self, learner: Learner, experience: Experience) -> None:
        """Note whose episodes are not past: those of the classes at hand."""
        if self.policy == "class":
            self.buffers["now"] = torch.tensor(experience.labels)

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Store examples of this experience."""
        if not self.patterns:
            return
        view = experience.train
        rng = generator(self.seed, "episode", experience.index)
        if self.policy == "experience":
            chosen = rng.permutation(len(view))[: self.patterns]
            self._store(experience.index, view.take(torch.from_numpy(chosen)))
            return
        for label in torch.unique(view.y).tolist():
            self._merge(label, view.take(view.y == label), rng)

    def _store(self, number: int, batch: Batch) -> None:
        self.buffers[f"x.{number}"], self.buffers[f"y.{number}"] = batch.x, batch.y
        if batch.task is not None:
            self.buffers[f"task.{number}"] = torch.as_tensor(batch.task).reshape(-1)

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse stored examples, labels and tasks that do not go together."""
        stored = [name[2:] for name in self.buffers if name.startswith(("x.", "y."))]
        for n in sorted({number for number in stored if number.isdecimal()}):
            if not check_examples(self.buffers, (f"x.{n}", f"y.{n}"), learner, stream):
                raise ModelFileError(f"the buffer 'x.{n}' is empty")
            if f"task.{n}" in self.buffers or learner.tasks:
                task = checked(self.buffers, f"task.{n}", (1,), INTEGERS)
                check_tasks(task, f"task.{n}", learner)

    def _merge(self, number: int, batch: Batch, rng: np.random.Generator) -> None:
        """Add examples to an episode, where a random choice from all that came stays."""
        keys = torch.from_numpy(rng.random(len(batch.y)))
        if f"key.{number}" in self.buffers:
            task = self._task(number)
            old = Batch(self.buffers[f"x.{number}"], self.buffers[f"y.{number}"], task)
            batch = join([old, batch])
            keys = torch.cat([self.buffers[f"key.{number}"], keys])
        keys, places = keys.topk(min(self.patterns, len(keys)))
        self.buffers[f"key.{number}"] = keys
        self._store(number, Batch(batch.x[places], batch.y[places], batch.task))

    def past(self, clock: Clock) -> list[Batch]:
        """Return the stored examples of each episode but the present ones."""
        if self.policy == "class":
            stored = [int(name[2:]) for name in self.buffers if name.startswith("y.")]
            numbers = [number for number in stored if number not in self.buffers["now"]]
        else:
            numbers = [n for n in range(clock.experience) if f"x.{n}" in self.buffers]
        return [
            Batch(self.buffers[f"x.{n}"], self.buffers[f"y.{n}"], self._task(n)) for n in numbers
        ]

    def draw_each(self, past: list[Batch], each: int, name: str, clock: Clock) -> list[Batch]:
        """Return so many examples of each episode, drawn anew in every step."""
        rng = generator(self.seed, name, clock.experience, clock.epoch, clock.batch)
        chosen = []
        for batch in past:
            places = torch.from_numpy(rng.permutation(len(batch.y))[:each])
            chosen.append(Batch(batch.x[places], batch.y[places], batch.task))
        return chosen

    def _task(self, number: int) -> int | None:
        task = self.buffers.get(f"task.{number}")
        return None if task is None else int(task[0])

    def rows(self, learner: Learner, count: int) -> Tensor:
        """Return a buffer for ``count`` flat gradients; the same one each time."""
        size = sum(parameter.numel() for parameter in learner.parameters())
        if self._rows.shape[0] < count or self._rows.shape[1] != size:
            self._rows = torch.zeros(count, size, device=learner.device)
        return self._rows[:count]

    def write(self, row: Tensor, learner: Learner, batch: Batch) -> None:
        """Write the gradient of the loss of stored examples; ``.grad`` stays as it is.

        A learner that knows its gradients writes them where they are to be.
        """
        own = [parameter.grad for parameter in learner.parameters()]
        for parameter, part in zip(learner.parameters(), _parts(row, learner), strict=True):
            parameter.grad = part
        learner.backward(*batch)
        self.write_current(row, learner)
        for parameter, grad in zip(learner.parameters(), own, strict=True):
            parameter.grad = grad

    def write_current(self, row: Tensor, learner: Learner) -> None:
        """Write the gradient that the optimiser would use."""
        self._fill(row, learner, [parameter.grad for parameter in learner.parameters()])

    @torch.no_grad()
    def read_current(self, row: Tensor, learner: Learner) -> None:
        """Hand a gradient to the optimiser, where the loss reaches."""
        reached = [
            (p.grad, part)
            for p, part in zip(learner.parameters(), _parts(row, learner), strict=True)
            if p.grad is not None
        ]
        torch._foreach_copy_([grad for grad, _ in reached], [part for _, part in reached])

    @torch.no_grad()
    def _fill(self, row: Tensor, learner: Learner, grads: list[Tensor | None]) -> None:
        for part, grad in zip(_parts(row, learner), grads, strict=True):
            if grad is None:
                part.zero_()
            elif grad.data_ptr() != part.data_ptr():
                part.copy_(grad)


def _parts(row: Tensor, learner: Learner) -> list[Tensor]:
    """Show a flat row as tensors shaped like the parameters."""
    parameters = list(learner.parameters())
    pieces = torch.split(row, [parameter.numel() for parameter in parameters])
    return [piece.view(p.shape) for piece, p in zip(pieces, parameters, strict=True)]
