"""The loop: a stream, a learner and a strategy; from here a run reads from top to bottom."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from sffa.continual.checkpoint import RunState, branch_of
from sffa.continual.config import ContinualConfig
from sffa.continual.evaluation import evaluate, is_met
from sffa.continual.old_callbacks import old_callbacks
from sffa.continual.result import Result
from sffa.continual.run_files import RunFiles
from sffa.continual.strategies.base import Strategy
from sffa.continual.strategies.registry import describe, make_strategy
from sffa.continual.stream import AnyStream, Data, Experience, Stream
from sffa.continual.streams.iterated import Adapted, as_stream
from sffa.continual.streams.registry import describe_stream, find_stream, make_stream
from sffa.continual.undeclared import digests
from sffa.continual.views import View
from sffa.core import Callback, Epoch, Learner, Progress, Trainer, make, multiply_adds
from sffa.core.batch import Array
from sffa.core.callbacks import StopTraining, notify
from sffa.core.learner import KINDS, kind_of
from sffa.core.presets import is_network, name_of, preset_of
from sffa.core.seeds import generator
from sffa.core.trainer import DivergedError
from sffa.errors import ConfigurationError, DataError, SFFAError
from sffa.extension import code_of, is_reference, note_source, reference_to
from sffa.memory import peak_mb, restart_peak
from sffa.standardise import RunningScale, scale_of


class Stopped(SFFAError):
    """A run that was asked to stop; with a checkpoint it can go on.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.core import Callback
    >>> from sffa.data import load
    >>> class AtOnce(Callback):
    ...     def on_batch_end(self, progress):
    ...         return True
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> run(config, load("digits"), callbacks=[AtOnce()])
    Traceback (most recent call last):
    sffa.continual.loop.Stopped: ...
    """


def run(
    config: ContinualConfig,
    data: Data | None = None,
    *,
    strategy: Strategy | None = None,
    learner: Learner | None = None,
    stream: AnyStream | Iterable[Any] | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    keep: str | os.PathLike[str] | None = None,
    start: str | os.PathLike[str] | None = None,
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
        The experiences, in place of those that ``config`` names: a stream of `continual.STREAMS`,
        an `IteratorStream`, a list of `Experience`, or an object with what `Stream` has.
    callbacks
        Look on; see `sffa.core.Callback`. One that stops the run ends it with `Stopped`.
    checkpoint
        A file to save to after every experience and on a stop. If it is there already, the run
        goes on from it; on the same machine and threads, to the bits it would have come to.
    keep
        A folder for a checkpoint after each evaluation, ``0001.safetensors`` and so on, from which
        other runs can start.
    start
        A kept checkpoint of another run to go on from, with another method or other settings of
        training; with nothing changed, to the other's bits. See `checkpoint.branch`.
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
    files = {"checkpoint": checkpoint, "keep": keep, "start": start}
    given: Any = {name: None if path is None else Path(path) for name, path in files.items()}
    given |= {"strategy": strategy, "learner": learner, "stream": stream}
    going = ContinualRun(config, data, **given)
    return going.go([*callbacks, *old_callbacks(on_experience, on_batch)])


class ContinualRun(RunFiles):
    """A run under way: what `run` holds between two experiences, and a checkpoint keeps.

    >>> from sffa.continual import ContinualConfig
    >>> from sffa.data import load
    >>> config = ContinualConfig(algorithm="bp", hidden=(20,), epochs=1)
    >>> going = ContinualRun(config, load("digits"))
    >>> going.stream.length, len(going.go().experiences)
    (5, 5)
    """

    def __init__(
        self,
        config: ContinualConfig,
        data: Data | None = None,
        *,
        strategy: Strategy | None = None,
        learner: Learner | None = None,
        stream: AnyStream | Iterable[Any] | None = None,
        checkpoint: Path | None = None,
        keep: Path | None = None,
        start: Path | None = None,
    ) -> None:
        if not isinstance(config, ContinualConfig):
            raise ConfigurationError(f"expected a ContinualConfig, got a {type(config).__name__}")
        self.stream = _stream_of(config, data, stream)
        given = None if stream is None else self.stream
        self.config = config = _described(config, self.stream, given, strategy, learner)
        if start is not None:
            self.config = config = config.model_copy(update={"branch": branch_of(start)})
        self.checkpoint, self.keep = checkpoint, keep
        self.strategy = strategy or make_strategy(config.parts, config.method_options)
        self._check_strategy()
        self.every = config.evaluate_every or self.stream.evaluate_every
        self.state = RunState()
        self.scale = RunningScale()
        self.result = self._nothing_yet()
        values = config.model_dump(mode="json")
        self.identity: dict[str, Any] = {"config": values, "data": self.stream.fingerprint}
        self.identity["code"] = code_of(values)
        self.steps = self._count_steps()
        if learner is None:
            learner = make_learner(config, self.stream.features, len(self.stream.classes))
        self._check_learner(learner)
        if checkpoint is not None and checkpoint.exists():
            self._resume(checkpoint)
        elif start is not None:
            self._branch(start)
        else:
            self._standardise(learner)
            self.trainer = Trainer(
                learner,
                lr=config.lr,
                negatives=config.negatives,
                seed=config.seed,
                lr_schedule=config.lr_schedule,
                optimizer=config.optimizer,
            )
        self.strategy.attach(self.learner)
        self._digests = digests(self.strategy, self.learner)
        self._undeclared: list[str] = []

    def _nothing_yet(self) -> Result:
        """Return the result before anything is learned."""
        stream = self.stream
        learned = stream.learned
        return Result(
            self.config,
            stream.chances,
            learned=[None] * len(stream.tests) if learned is None else list(learned),
            tests=[list(test.classes) for test in stream.tests],
            total=stream.length,
        )

    def _check_strategy(self) -> None:
        """Refuse a stream that the strategy cannot serve; let it join the run."""
        if not self.stream.boundaries and self.strategy.needs_boundaries:
            raise ConfigurationError(
                f"{self.config.method} acts where an experience ends, and stream "
                f"'{self.config.stream}' does not say where: use naive, replay-reservoir, "
                "replay-balanced, derpp, or er-ace with er-ace.policy=reservoir"
            )
        self.strategy.check(self.stream)
        self.strategy.join_run(self.config.seed, self.config.batch_size)

    def _check_learner(self, learner: Learner) -> None:
        """Refuse a learner that the strategy, or a checkpoint, cannot serve."""
        if learner.closed_form and self.strategy.needs_gradients:
            raise ConfigurationError(
                f"{self.config.algorithm} learns in closed form and forgets nothing: method "
                f"'{self.config.method}' has no gradient to work on; use method 'naive'"
            )
        files = self.checkpoint, self.keep
        if not any(files):
            return
        if kind_of(type(learner)) is None:
            raise ConfigurationError(
                f"a checkpoint holds networks that come back as they are, not a "
                f"{type(learner).__name__}: define it in a module, with a config and restore, or "
                "run it without"
            )
        learner.header()  # refuses parts that no file can name

    def _standardise(self, learner: Learner) -> None:
        """Set mean and deviation before anything is learned, unless the learner has its own."""
        if learner.standardised or self.config.standardise == "running":
            return
        known = self.stream.scale if self.config.standardise == "all" else None
        if known is None:
            known = scale_of(self.stream.first.train.x.numpy())
        learner.standardise(*known)

    def _count_steps(self) -> int:
        """Return the batches of the whole run, 0 if nobody knows."""
        if self.stream.length is None or not isinstance(self.stream, Stream):
            return 0
        sizes = [len(self._view(experience)) for experience in self.stream.starting(0)]
        return sum(-(-size // self.config.batch_size) for size in sizes) * self.config.epochs

    def go(self, callbacks: Sequence[Callback] = ()) -> Result:
        """Learn whatever is still to come of the stream."""
        notify(callbacks, "on_stream_begin", self.learner, self.stream, self.result)
        if not self.result.rows:
            self.evaluate()
            self.report(callbacks)
        for experience in self.stream.starting(self.state.experience):
            self.learn(experience, callbacks)
            self.report(callbacks)
        if self.result.done < self.state.experience:
            self.conclude()
            self.report(callbacks)
        self.result.learner = self.learner
        return self.result

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
            raise ConfigurationError(
                f"the loss is {error.loss} in experience {experience.index}: lower lr, or the "
                f"strength of "
                f"{self.config.method}"
            ) from None
        self.finish(experience, started)

    def enter(self, experience: Experience) -> None:
        """Meet the classes of an experience; optimiser and strategy follow whatever grew."""
        if self.config.standardise == "running":
            self.scale.add(experience.train.x.numpy())
            self.learner.standardise(*self.scale.values())
        self.strategy.grow(self.trainer.add_classes(experience.labels, experience.task))
        if self.config.reset_optimizer:
            self.trainer.reset_optimizer()
        if self.stream.boundaries:
            self.strategy.before_experience(self.learner, experience)
        self.state.entered = True

    def finish(self, experience: Experience, started: float) -> None:
        """Let the strategy remember an experience; evaluate and save, if it is time to."""
        if self.stream.boundaries:
            self.strategy.after_experience(self.learner, experience)
        else:
            self.strategy.observe(self.learner, experience)
        done = experience.index + 1
        self._note_learned(done)
        seconds = self.state.seconds + time.perf_counter() - started
        classes = list(dict.fromkeys([*self.state.classes, *experience.classes]))
        self.state = RunState(
            experience=done, steps=self.state.steps, seconds=seconds, classes=classes
        )
        if done % self.every == 0 or done == self.stream.length:
            self.conclude(started)
        else:
            self._take_time(started)

    def conclude(self, started: float | None = None) -> None:
        """Evaluate what was learned since the last evaluation, and save."""
        started = time.perf_counter() if started is None else started
        seconds, classes = self.state.seconds, self.state.classes
        self.state = RunState(experience=self.state.experience, steps=self.state.steps)
        self.evaluate()
        self.result.experiences.append(
            {
                "classes": classes,
                "seconds": seconds,
                "memory_mb": psutil.Process().memory_info().rss / 2**20,
                "strategy_mb": self.strategy.megabytes,
                "learner_mb": self.learner.megabytes,
                **_cost(self.learner),
            }
        )
        self._take_time(started)
        self.save()

    def _note_learned(self, done: int) -> None:
        """Note which tested parts count as learned now, if the stream does not know beforehand."""
        learned = self.result.learned
        if self.stream.learned is not None or learned is None or None not in learned:
            return
        for number, test in enumerate(self.stream.tests):
            if learned[number] is None and is_met(self.learner, test):
                learned[number] = done
                if self.stream.scenario == "class":
                    self.result.chances[number] = 100.0 / len(self.learner.classes)

    def order(self, experience: Experience, count: int, epoch: int) -> Array:
        """Draw the order of the examples; from the clock, so that it needs no state."""
        if not self.stream.shuffled:
            return np.arange(count)
        return generator(self.config.seed, "order", experience.index, epoch).permutation(count)

    def _view(self, experience: Experience) -> View:
        if type(self.strategy).training_view is Strategy.training_view:
            return experience.train
        return self.strategy.training_view(experience, self.stream.past(experience.index))

    def evaluate(self) -> None:
        """Add a row to the accuracy matrix."""
        started = time.perf_counter()
        row, held, self.result.per_class = evaluate(self.learner, self.stream)
        self.result.rows.append(row)
        self.result.held += [held] if held else []
        self.result.seen.append(self.state.experience)
        if not self.result.experiences and len(self.result.rows) == 1:
            self._take_time(started)

    def report(self, callbacks: Sequence[Callback]) -> None:
        """Show the result so far to the callbacks, if it is new; stop if one asks for it."""
        if self.result.done < self.state.experience:
            return
        stop = notify(callbacks, "on_experience_end", self.learner, self.result)
        if stop and self.state.experience != self.stream.length:
            self._stop(time.perf_counter())

    def _stop(self, started: float) -> None:
        self.state.seconds += time.perf_counter() - started
        self._take_time(started)
        self.save()
        where = f"{self.state.steps} of {self.steps or 'unknown'} batches"
        if self.checkpoint is None:
            raise Stopped(f"stopped after {where}; there is no checkpoint to go on from")
        raise Stopped(f"stopped after {where}; run the same again to go on from {self.checkpoint}")

    def _take_time(self, started: float) -> None:
        self.result.seconds += time.perf_counter() - started
        self.result.peak_memory_mb = max(self.result.peak_memory_mb, peak_mb())


def _cost(learner: Learner) -> dict[str, Any]:
    """Return the multiply-adds of an example, if they are known."""
    found = multiply_adds(learner)
    return {} if found is None else {"multiply_adds": found._asdict()}


class _Position(Callback):
    """Keep a run's state at the next batch to learn."""

    def __init__(self, state: RunState) -> None:
        self.state = state

    def on_batch_end(self, progress: Progress) -> None:
        self.state.epoch, self.state.batch = progress.epoch, progress.batch
        self.state.steps = progress.step

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        self.state.epoch, self.state.batch = progress.epoch + 1, 0


def make_learner(config: ContinualConfig, features: int, classes: int) -> Learner:
    """Make the learner of a configuration, with no class met yet.

    A disjoint gate plans for all classes of the stream, unless ``network`` says otherwise.

    >>> from sffa.continual import ContinualConfig
    >>> learner = make_learner(
    ...     ContinualConfig(algorithm="bp", hidden=(20,)), features=64, classes=10
    ... )
    >>> learner.inputs, learner.classes
    (64, [])
    """
    options: dict[str, Any] = dict(config.network)
    if is_network(config.algorithm):
        options = {"backend": config.backend, **options}
        if {**preset_of(config.algorithm).options("stream"), **options}.get("gate") == "disjoint":
            options = {"planned_classes": classes, **options}
    return make(
        config.algorithm, features, config.hidden, seed=config.seed, protocol="stream", **options
    )


def _stream_of(config: ContinualConfig, data: Data | None, stream: Any) -> AnyStream:
    """Return the stream that was given, or the one that a configuration names."""
    if isinstance(data, str | os.PathLike):
        raise DataError(f"expected a dataset, got {str(data)!r}; sffa.data.load reads one")
    if stream is not None:
        found = as_stream(stream, config.scenario)
    else:
        if data is None and find_stream(config.stream).needs_data:
            raise DataError("a run needs data or a stream")
        shared = ("scenario", "seed", "experiences", "class_order", "holdout", "batch_size")
        common = {name: getattr(config, name) for name in shared}
        found = make_stream(config.stream, config.options, data=data, **common)
    if config.holdout and any(test.held is None for test in found.tests):
        raise ConfigurationError(
            "holdout is for streams that are cut out of data: give this one its held-out parts"
        )
    if not found.boundaries and config.epochs > 1:
        raise ConfigurationError("a stream without boundaries is seen once: use epochs=1")
    return found


def _described(
    config: ContinualConfig,
    stream: AnyStream,
    given: AnyStream | None,
    strategy: Strategy | None,
    learner: Learner | None,
) -> ContinualConfig:
    """Write into a configuration what objects given beside it are."""
    told: dict[str, Any] = {}
    if "dataset" not in config.model_fields_set and f"split-{stream.name}" != config.dataset:
        told["dataset"] = stream.name
    options = {k: v for k, v in config.options.items() if k not in config.method_options}
    if given is not None and not isinstance(given, Adapted):
        told["scenario"] = given.scenario
        told["stream"], options = describe_stream(given)
        if is_reference(told["stream"]):
            note_source(type(given))
        told["options"] = {**config.method_options, **options}
        if given.scale is None and config.standardise == "all":
            told["standardise"] = "first"
    if strategy is not None:
        told["method"], own = describe(strategy)
        told["options"] = {**own, **options}
        for part in strategy.members:
            note_source(type(part))
    if learner is not None:
        kind = type(learner)
        note_source(kind)
        told["algorithm"] = reference_to(kind)
        if kind_of(kind) is not None:
            values = learner.config.model_dump(mode="json", exclude_defaults=True)
            algorithm = values.pop("algorithm", "sffa")
            if kind in KINDS.values():
                told["algorithm"] = name_of(learner) or algorithm
            told["hidden"] = learner.config.hidden  # type: ignore[attr-defined]
            apart = ("inputs", "hidden", "seed")
            told["network"] = {n: v for n, v in values.items() if n not in apart}
    return config.model_copy(update=told) if told else config
