"""The loop: a stream, a learner and a strategy; from here a run reads from top to bottom."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from sffa.continual import checkpoint as checkpoint_file
from sffa.continual.checkpoint import RunState
from sffa.continual.config import ContinualConfig
from sffa.continual.evaluation import evaluate
from sffa.continual.result import Result
from sffa.continual.strategies.base import Combined, Strategy
from sffa.continual.strategies.registry import describe, make_strategy
from sffa.continual.stream import Data, Experience, Stream
from sffa.continual.undeclared import changed, digests
from sffa.continual.views import View
from sffa.core import Callback, Epoch, Learner, Network, Progress, Trainer, make
from sffa.core.batch import Array
from sffa.core.budget import check_memory
from sffa.core.callbacks import StopTraining, notify
from sffa.core.learner import KINDS
from sffa.core.presets import is_network, name_of, preset_of
from sffa.core.seeds import generator
from sffa.core.trainer import DivergedError
from sffa.errors import ConfigurationError, DataError, SFFAError, SFFAWarning, warn_renamed
from sffa.extension import code_of, note_source
from sffa.memory import peak_mb, restart_peak


class Stopped(SFFAError):
    """A run that was asked to stop; with a checkpoint it can go on."""


def run(
    config: ContinualConfig,
    data: Data | None = None,
    *,
    strategy: Strategy | None = None,
    learner: Learner | None = None,
    stream: Stream | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    on_experience: Callable[[int, Result, Learner], object] | None = None,
    on_batch: Callable[[int, int], object] | None = None,
) -> Result:
    """Learn the experiences of a stream one after the other, evaluating all after each.

    Parameters
    ----------
    config
        What to run. Objects given beside it win over what it names.
    data
        The dataset: two splits, number of classes and features, mean and deviation. Not needed
        with a ``stream``.
    strategy
        What protects the past, such as ``EWC(strength=10)``; it takes the run's seed.
    learner
        What learns, such as ``sffa.Network(784)``, with no class of the stream met yet.
    stream
        The experiences, in place of those that ``config`` cuts out of ``data``.
    callbacks
        Look on; see `sffa.core.Callback`. One that stops the run ends it with `Stopped`.
    checkpoint
        A file to save to after every experience and on a stop. If it is there already, the run
        goes on from it; on the same machine and threads, to the bits it would have come to.
    on_experience, on_batch
        Old forms of ``callbacks``.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, Replay, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(hidden=(60, 60), epochs=1)
    >>> run(config, load("digits"), strategy=Replay(capacity=50)).config.method
    'replay'
    """
    restart_peak()
    path = None if checkpoint is None else Path(checkpoint)
    given: Any = {"strategy": strategy, "learner": learner, "stream": stream}
    going = ContinualRun(config, data, **given, checkpoint=path)
    listeners = [*callbacks, *_old_callbacks(on_experience, on_batch)]
    if not going.result.rows:
        going.evaluate()
        going.report(listeners)
    while going.state.experience < len(going.stream):
        going.learn(going.stream[going.state.experience], listeners)
        going.report(listeners)
    going.result.learner = going.learner
    return going.result


class ContinualRun:
    """A run under way: what `run` holds between two experiences, and a checkpoint keeps."""

    def __init__(
        self,
        config: ContinualConfig,
        data: Data | None = None,
        *,
        strategy: Strategy | None = None,
        learner: Learner | None = None,
        stream: Stream | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        if not isinstance(config, ContinualConfig):
            raise ConfigurationError(f"expected a ContinualConfig, got a {type(config).__name__}")
        if isinstance(data, str | os.PathLike):
            raise DataError(f"expected a dataset, got {str(data)!r}; sffa.data.load reads one")
        if stream is None:
            if data is None:
                raise DataError("a run needs data or a stream")
            groups = config.seed, config.experiences, config.class_order
            stream = Stream(data, config.scenario, *groups)
        self.config = config = _described(config, stream, strategy, learner)
        self.checkpoint = checkpoint
        self.stream = stream
        self.strategy = strategy or make_strategy(config.parts, config.options)
        self.strategy.check(stream)
        self.strategy.join_run(config.seed, config.batch_size)
        self.state = RunState()
        self.result = Result(config, stream.chances)
        values = config.model_dump(mode="json")
        self.identity: dict[str, Any] = {"config": values, "data": stream.fingerprint}
        self.identity["code"] = code_of(values)
        views = [self._view(experience) for experience in stream]
        self.steps = sum(-(-len(v) // config.batch_size) for v in views) * config.epochs
        if learner is None:
            learner = make_learner(config, stream.data.features, len(stream.classes))
        if learner.closed_form and self.strategy.needs_gradients:
            raise ConfigurationError(
                f"{config.algorithm} learns in closed form and forgets nothing: method "
                f"'{config.method}' has no gradient to work on; use method 'naive'"
            )
        if checkpoint is not None and type(learner) not in KINDS.values():
            raise ConfigurationError(
                f"a checkpoint holds networks of sffa itself, not a {type(learner).__name__}: run "
                "it without"
            )
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        else:
            if not learner.standardised:
                learner.standardise(stream.data.mean, stream.data.std)
            self.trainer = Trainer(
                learner, lr=config.lr, seed=config.seed, lr_schedule=config.lr_schedule
            )
        self.strategy.attach(self.learner)
        self._digests = digests(self.strategy, self.learner)
        self._undeclared: list[str] = []

    @property
    def learner(self) -> Learner:
        """The network that learns."""
        return self.trainer.learner

    def learn(self, experience: Experience, callbacks: Sequence[Callback] = ()) -> None:
        """Learn one experience, or the rest of it, and evaluate."""
        view = self._view(experience)
        started = time.perf_counter()
        if not self.state.entered:
            self.enter(experience)
        try:
            self.trainer.run_epochs(
                view,
                range(self.state.epoch, self.config.epochs),
                self.config.batch_size,
                lambda epoch: self.order(experience, len(view), epoch),
                hooks=self.strategy,
                experience=experience.index,
                first_batch=self.state.batch,
                callbacks=[_Position(self.state), *callbacks],
                step=self.state.steps,
                steps=self.steps,
            )
        except StopTraining:
            self._stop(started)
        except DivergedError as error:
            loss = str(error).partition(" after")[0]
            raise ConfigurationError(
                f"{loss} in experience {experience.index}: lower lr, or the strength of "
                f"{self.config.method}"
            ) from None
        self.finish(experience, started)

    def enter(self, experience: Experience) -> None:
        """Meet the classes of an experience; optimiser and strategy follow whatever grew."""
        self.strategy.grow(self.trainer.add_classes(experience.labels, experience.task))
        self.strategy.before_experience(self.learner, experience)
        self.state.entered = True

    def finish(self, experience: Experience, started: float) -> None:
        """Let the strategy remember an experience, evaluate, and save."""
        self.strategy.after_experience(self.learner, experience)
        seconds = self.state.seconds + time.perf_counter() - started
        self.state = RunState(experience=experience.index + 1, steps=self.state.steps)
        self.evaluate()
        self.result.experiences.append(
            {
                "classes": list(experience.classes),
                "seconds": seconds,
                "memory_mb": psutil.Process().memory_info().rss / 2**20,
                "strategy_mb": self.strategy.megabytes,
                "learner_mb": self.learner.megabytes,
            }
        )
        self._take_time(started)
        self.save()

    def order(self, experience: Experience, count: int, epoch: int) -> Array:
        """Draw the order of the examples; from the clock, so that it needs no state."""
        return generator(self.config.seed, "order", experience.index, epoch).permutation(count)

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

    def report(self, callbacks: Sequence[Callback]) -> None:
        """Show the result so far to the callbacks; stop if one of them asks for it."""
        stop = notify(callbacks, "on_experience_end", self.learner, self.result)
        if stop and self.state.experience < len(self.stream):
            self._stop(time.perf_counter())

    def save(self) -> None:
        """Write the checkpoint, if there is to be one."""
        if self.checkpoint is not None:
            self._look_for_undeclared()
            checkpoint_file.save(
                self.checkpoint,
                self.identity,
                self.trainer,
                self.strategy,
                self.state,
                self.result,
                self._undeclared,
            )

    def _look_for_undeclared(self) -> None:
        """Warn, once, of what a strategy changed that its checkpoint will not hold."""
        found = changed(self.strategy, self.learner, self._digests)
        if found and not self._undeclared:
            warnings.warn(
                f"{found[0]} changed and is in neither parameter_state nor buffers: "
                f"{self.checkpoint} does not hold it, and no run can go on from there; keep it in "
                "one of the two, or name it in 'transient' if it is computed again",
                SFFAWarning,
                stacklevel=2,
            )
        self._undeclared = found

    def _resume(self, path: Path) -> None:
        self.trainer, self.state = checkpoint_file.load(
            path, self.identity, self.strategy, self.result
        )
        if isinstance(self.learner, Network):
            self.learner.backend = self.config.backend

    def _stop(self, started: float) -> None:
        self.state.seconds += time.perf_counter() - started
        self._take_time(started)
        self.save()
        where = f"{self.state.steps} of {self.steps} batches"
        if self.checkpoint is None:
            raise Stopped(f"stopped after {where}; there is no checkpoint to go on from")
        raise Stopped(f"stopped after {where}; run the same again to go on from {self.checkpoint}")

    def _take_time(self, started: float) -> None:
        self.result.seconds += time.perf_counter() - started
        self.result.peak_memory_mb = max(self.result.peak_memory_mb, peak_mb())


class _Position(Callback):
    """Keep a run's state at the next batch to learn."""

    def __init__(self, state: RunState) -> None:
        self.state = state

    def on_batch_end(self, progress: Progress) -> None:
        self.state.epoch, self.state.batch = progress.epoch, progress.batch
        self.state.steps = progress.step

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        self.state.epoch, self.state.batch = progress.epoch + 1, 0


class _Functions(Callback):
    """The callbacks ``on_experience`` and ``on_batch`` of earlier versions."""

    def __init__(self, on_experience: Any, on_batch: Any) -> None:
        self._experience, self._batch = on_experience, on_batch

    def on_batch_end(self, progress: Progress) -> Any:
        return self._batch and self._batch(progress.step, progress.steps)

    def on_experience_end(self, learner: Learner, result: Result) -> None:
        if self._experience is not None:
            self._experience(result.done, result, learner)


def _old_callbacks(on_experience: Any, on_batch: Any) -> list[Callback]:
    if on_experience is None and on_batch is None:
        return []
    warn_renamed("on_experience and on_batch of continual.run", "callbacks=[Callback]")
    return [_Functions(on_experience, on_batch)]


def make_learner(config: ContinualConfig, features: int, classes: int) -> Learner:
    """Make the learner of a configuration, with no class met yet.

    A disjoint gate plans for all classes of the stream, unless ``network`` says otherwise.
    """
    code = config.network.get("code_size", 100) if is_network(config.algorithm) else None
    check_memory(features, config.hidden, code)
    options: dict[str, Any] = dict(config.network)
    if is_network(config.algorithm):
        options = {"backend": config.backend, **options}
        if {**preset_of(config.algorithm).options("stream"), **options}.get("gate") == "disjoint":
            options = {"planned_classes": classes, **options}
    return make(
        config.algorithm, features, config.hidden, seed=config.seed, protocol="stream", **options
    )


def _described(
    config: ContinualConfig,
    stream: Stream,
    strategy: Strategy | None,
    learner: Learner | None,
) -> ContinualConfig:
    """Write into a configuration what objects given beside it are."""
    told: dict[str, Any] = {}
    named = getattr(stream.data, "name", config.dataset)
    if "dataset" not in config.model_fields_set and f"split-{named}" != config.dataset:
        told["dataset"] = named
    if strategy is not None:
        told["method"], told["options"] = describe(strategy)
        for part in strategy.parts if isinstance(strategy, Combined) else [strategy]:
            note_source(type(part))
    if learner is not None:
        kind = type(learner)
        note_source(kind)
        told["algorithm"] = f"{kind.__module__}:{kind.__qualname__}"
        if kind in KINDS.values():
            values = learner.config.model_dump(mode="json", exclude_defaults=True)
            told["algorithm"] = name_of(learner) or values.pop("algorithm", "sffa")
            told["hidden"] = learner.config.hidden  # type: ignore[attr-defined]
            apart = ("inputs", "hidden", "seed")
            told["network"] = {n: v for n, v in values.items() if n not in apart}
    return config.model_copy(update=told) if told else config
