"""The loop: a stream, a learner and a strategy; from here a run reads from top to bottom."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from sffa.continual import checkpoint as checkpoint_room
from sffa.continual.checkpoint import RunState
from sffa.continual.config import ContinualConfig
from sffa.continual.evaluation import evaluate
from sffa.continual.result import Result
from sffa.continual.step import protected_step
from sffa.continual.strategies.base import Clock
from sffa.continual.strategies.registry import make_strategy
from sffa.continual.stream import Data, Experience, Stream
from sffa.continual.views import View
from sffa.core import Learner, Trainer, make
from sffa.core.growth import update_optimizer
from sffa.core.presets import preset_of
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, DataError, SFFAError
from sffa.extension import is_reference
from sffa.memory import peak_mb, restart_peak

OnExperience = Callable[[int, Result, Learner], object]
OnBatch = Callable[[int, int], object]


class Stopped(SFFAError):
    """A run that was asked to stop; with a checkpoint it can go on."""


def run(
    config: ContinualConfig,
    data: Data,
    *,
    on_experience: OnExperience | None = None,
    on_batch: OnBatch | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Result:
    """Learn the experiences of a stream one after the other, evaluating all after each.

    Parameters
    ----------
    config
        What to run.
    data
        The dataset: two splits, number of classes and features, mean and deviation.
    on_experience
        Told the number of experiences learned (0: before training), the result so far, and the
        learner, which it must leave as it is.
    on_batch
        Told how many batches of how many are done in the whole run; if it answers True the run
        stops there with `Stopped`.
    checkpoint
        A file to save to after every experience and on a stop. If it is there already, the run
        goes on from it, to the bits it would have come to.
    """
    if not isinstance(config, ContinualConfig):
        raise ConfigurationError(f"expected a ContinualConfig, got a {type(config).__name__}")
    if isinstance(data, str | os.PathLike):
        raise DataError(f"expected a dataset, got {str(data)!r}; sffa.data.load reads one")
    restart_peak()
    course = ContinualRun(config, data, None if checkpoint is None else Path(checkpoint))
    if not course.result.rows:
        course.evaluate()
        _tell(on_experience, course)
    while course.position.experience < len(course.stream):
        course.learn(course.stream[course.position.experience], on_batch)
        _tell(on_experience, course)
    course.result.learner = course.learner
    return course.result


class ContinualRun:
    """A run under way: what `run` holds between two experiences, and a checkpoint keeps."""

    def __init__(self, config: ContinualConfig, data: Data, checkpoint: Path | None = None):
        named = getattr(data, "name", config.dataset)
        if "dataset" not in config.model_fields_set and f"split-{named}" != config.dataset:
            config = config.model_copy(update={"dataset": named})
        self.config = config
        self.checkpoint = checkpoint
        self.stream = Stream(
            data, config.scenario, config.seed, config.experiences, config.class_order
        )
        self.strategy = make_strategy(
            config.parts, config.options, seed=config.seed, batch_size=config.batch_size
        )
        self.strategy.check(self.stream)
        self.position = RunState()
        self.result = Result(config, self.stream.chances)
        self.identity = {
            "config": config.model_dump(mode="json"),
            "data": [len(data.train.y), len(data.test.y), data.features, self.stream.checksum],
        }
        views = [self._view(experience) for experience in self.stream]
        self.steps = sum(-(-len(v) // config.batch_size) for v in views) * config.epochs
        if checkpoint is not None and is_reference(config.algorithm):
            raise ConfigurationError(
                f"a checkpoint holds networks of sffa's own, not of '{config.algorithm}': run it "
                "without"
            )
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        else:
            learner = make_learner(config, data.features, len(self.stream.classes))
            learner.standardise(data.mean, data.std)
            self.trainer = Trainer(learner, lr=config.lr, seed=config.seed)

    @property
    def learner(self) -> Learner:
        """The network that learns."""
        return self.trainer.learner

    def learn(self, experience: Experience, on_batch: OnBatch | None = None) -> None:
        """Learn one experience, or the rest of it, and evaluate."""
        view = self._view(experience)
        started = time.perf_counter()
        if not self.position.entered:
            self._enter(experience)
        for epoch in range(self.position.epoch, self.config.epochs):
            self._epoch(experience, view, epoch, on_batch, started)
        self.strategy.after_experience(self.learner, experience)
        seconds = self.position.seconds + time.perf_counter() - started
        self.position = RunState(experience=experience.index + 1, steps=self.position.steps)
        self.evaluate()
        self.result.experiences.append(
            {
                "classes": list(experience.classes),
                "seconds": seconds,
                "memory_mb": psutil.Process().memory_info().rss / 2**20,
                "strategy_mb": self.strategy.megabytes,
            }
        )
        self._take_time(started)
        self.save()

    def _enter(self, experience: Experience) -> None:
        """Meet the classes; optimiser and strategy follow whatever grew."""
        growths = self.learner.add_classes(experience.labels, experience.task)
        update_optimizer(self.trainer.optimizer, growths)
        self.strategy.grow(growths)
        self.strategy.before_experience(self.learner, experience)
        self.position.entered = True

    def _epoch(
        self,
        experience: Experience,
        view: View,
        epoch: int,
        on_batch: OnBatch | None,
        started: float,
    ) -> None:
        order = self.order(experience, len(view), epoch)
        losses = torch.zeros((), dtype=torch.float64)
        parts = torch.split(order, self.config.batch_size)
        for number in range(self.position.batch, len(parts)):
            clock = Clock(experience.index, epoch, number)
            losses += self.step(view, parts[number], clock)
            self.position.epoch, self.position.batch = epoch, number + 1
            self.position.steps += 1
            if on_batch is not None and _yes(on_batch(self.position.steps, self.steps)):
                self._stop(started)
        if not bool(torch.isfinite(losses)):
            raise ConfigurationError(
                f"the loss is {float(losses)} in experience {experience.index}: lower lr, or the "
                f"strength of {self.config.method}"
            )
        self.position.epoch, self.position.batch = epoch + 1, 0

    def step(self, view: View, chosen: torch.Tensor, clock: Clock) -> torch.Tensor:
        """Take one step of the optimiser through the strategy's hooks; give the loss."""
        return protected_step(self.trainer, self.strategy, view.take(chosen), clock)

    def order(self, experience: Experience, count: int, epoch: int) -> torch.Tensor:
        """Draw the order of the examples; from the clock, so that it needs no state."""
        rng = generator(self.config.seed, "order", experience.index, epoch)
        return torch.from_numpy(rng.permutation(count))

    def _view(self, experience: Experience) -> View:
        past = [self.stream[number] for number in range(experience.index)]
        return self.strategy.training_view(experience, past)

    def evaluate(self) -> None:
        """Add a row to the accuracy matrix."""
        started = time.perf_counter()
        row, self.result.per_class = evaluate(self.learner, self.stream)
        self.result.rows.append(row)
        if not self.result.experiences and len(self.result.rows) == 1:
            self._take_time(started)

    def save(self) -> None:
        """Write the checkpoint, if there is to be one."""
        if self.checkpoint is not None:
            checkpoint_room.save(
                self.checkpoint,
                self.identity,
                self.trainer,
                self.strategy,
                self.position,
                self.result,
            )

    def _resume(self, path: Path) -> None:
        self.trainer, self.position = checkpoint_room.load(
            path, self.identity, self.strategy, self.result
        )
        if preset_of(self.config.algorithm) is not None:
            self.learner.backend = self.config.backend  # type: ignore[assignment]

    def _stop(self, started: float) -> None:
        self.position.seconds += time.perf_counter() - started
        self._take_time(started)
        self.save()
        where = f"{self.position.steps} of {self.steps} batches"
        if self.checkpoint is None:
            raise Stopped(f"stopped after {where}; there is no checkpoint to go on from")
        raise Stopped(f"stopped after {where}; run the same again to go on from {self.checkpoint}")

    def _take_time(self, started: float) -> None:
        self.result.seconds += time.perf_counter() - started
        self.result.peak_memory_mb = max(self.result.peak_memory_mb, peak_mb())


def make_learner(config: ContinualConfig, features: int, classes: int) -> Learner:
    """Make the learner of a configuration, with no class met yet.

    A disjoint gate plans for all classes of the stream, unless ``network`` says otherwise.
    """
    options: dict[str, Any] = dict(config.network)
    preset = preset_of(config.algorithm)
    if preset is not None:
        options = {"backend": config.backend, **options}
        if {**preset, **options}.get("gate") == "disjoint":
            options = {"planned_classes": classes, **options}
    return make(config.algorithm, features, config.hidden, seed=config.seed, **options)


def _yes(answer: object) -> bool:
    """Tell True, also NumPy's, from whatever else a listener gives back."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


def _tell(listener: OnExperience | None, course: ContinualRun) -> None:
    if listener is not None:
        listener(course.result.done, course.result, course.learner)
