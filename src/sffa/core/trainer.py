"""The trainer: the one step and the one epoch loop."""

from __future__ import annotations

import math
import numbers
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from sffa.core import negatives as negative_labels
from sffa.core import optimizer as optimizers
from sffa.core.batch import (
    Array,
    Batch,
    Clock,
    Task,
    check_finite,
    join,
)
from sffa.core.batches import Batches
from sffa.core.callbacks import Callback, Epoch, Progress, StopTraining, notify
from sffa.core.evaluation import accuracy
from sffa.core.examples import Arrays, Examples, pair_of, weights_of
from sffa.core.growth import Growth, update_optimizer
from sffa.core.hooks import NO_HOOKS, Step, StepHooks
from sffa.core.input_dropout import with_gaps
from sffa.core.learner import Learner
from sffa.core.lr_schedule import LRSchedule, lr_factor, schedule_of
from sffa.core.negatives import Negatives, NegativeScheme, scheme_of
from sffa.core.offload import Latents, Offload
from sffa.core.old_callbacks import old_callbacks
from sffa.core.seeds import generator
from sffa.core.trainer_files import TrainerFiles
from sffa.errors import (
    ConfigurationError,
    nearest,
)
from sffa.extension import name_of
from sffa.kernels import Winners
from sffa.standardise import scale_of

SCHEDULES = ("online", "greedy")
LARGEST_BATCH = 2**31 - 1
Watched = Mapping[str, tuple[Any, Any]]


class Trainer(TrainerFiles):
    """An optimiser, Adam by default, over a learner, one batch or many epochs at a time.

    Parameters
    ----------
    learner
        What to train: a `Network`, a `Backprop`, or any other `Learner`.
    lr
        The step size.
    negatives
        ``"all"`` labels, or a pair with a ``"uniform"`` or ``"hard"`` wrong label; or a
        `NegativeScheme` of your own.
    schedule
        ``"online"``: every layer sees every batch; ``"greedy"``: one layer to the end, then the
        next, the earlier ones frozen.
    seed
        Of the order of examples and of the negatives.
    standardise
        Whether the first `fit` takes mean and deviation from its examples, if the learner has
        none: one for all pixels where they are bytes, else one for each feature.
    lr_schedule
        ``"constant"``, or ``"cosine"``: from ``lr`` down to nothing over the epochs of a `fit` (of
        each layer, if greedy), or over those of each experience of a stream. Your own is a callable
        from the share of the steps done, 0 to 1, to a factor of ``lr``.
    optimizer
        ``"adam"``, or a class of torch's or your own, a ``functools.partial`` of one, a function
        ``(parameters, lr)``, or an optimiser of the learner's parameters, whose step size counts.
    offload
        A folder where all layers but the one that is trained wait in files, and what the layer
        below it answers on disk; for SFFA and ``schedule="greedy"``. `Trainer.load` of the folder
        goes on; see `save`.
    input_dropout
        Share of the values of each training example that are hidden, that is set to their mean,
        drawn anew in every step.

    Parts of your own (``negatives``, ``lr_schedule``, ``optimizer``) may also be named, as
    ``module:Class`` or ``module:Class(name=value)``.

    Examples
    --------
    >>> import torch, sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> trainer = sffa.Trainer(net)
    >>> loss = trainer.step(torch.eye(4), torch.tensor([0, 0, 1, 1]))
    """

    _checked: tuple[int, ...] | None = None

    def __init__(
        self,
        learner: Learner,
        lr: float = 1e-3,
        negatives: Negatives | type[NegativeScheme] | NegativeScheme | str = "all",
        schedule: Literal["online", "greedy"] = "online",
        seed: int = 0,
        *,
        standardise: bool = True,
        lr_schedule: LRSchedule | type = "constant",
        optimizer: Optimizer | type[Optimizer] | Callable[..., Optimizer] | str = "adam",
        offload: str | os.PathLike[str] | None = None,
        input_dropout: float = 0.0,
    ) -> None:
        _check_choice("schedule", schedule, SCHEDULES)
        if not learner.contrastive and (negatives != "all" or schedule != "online"):
            raise ConfigurationError(
                f"{type(learner).__name__} has no negatives and no greedy schedule: "
                "leave negatives='all' and schedule='online'"
            )
        if isinstance(optimizer, Optimizer):
            lr = float(optimizer.param_groups[0].get("lr", lr))
        if not 0 < lr < math.inf:
            raise ConfigurationError(f"lr must be positive, got {lr}")
        if seed < 0:
            raise ConfigurationError(f"seed must not be negative, got {seed}")
        if not 0 <= input_dropout < 1:
            raise ConfigurationError(f"input_dropout must lie in [0, 1), got {input_dropout}")
        if input_dropout and learner.closed_form:
            raise ConfigurationError(
                f"{type(learner).__name__} learns each example once: leave input_dropout=0"
            )
        self.learner = learner
        self.lr = lr
        self.scheme = scheme_of(negatives)
        self.schedule = schedule
        self.seed = seed
        self.standardise = standardise
        self.input_dropout = input_dropout
        self._schedule = schedule_of(lr_schedule)
        self.layer: int | None = 0 if schedule == "greedy" else None
        self.epochs_done = 0
        self.rng = generator(seed, "training")
        self._source = optimizers.source_of(optimizer)
        self.optimizer = self._new_optimizer()
        if isinstance(optimizer, Optimizer):
            optimizers.check_same(optimizer, self.optimizer)
            self.optimizer = optimizer
        if offload is not None:
            self._check_offload()
            self.offload = learner.offload(offload)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what is pickled, also by earlier versions, which kept names of some parts."""
        old = dict(state)
        if "negatives" in old:
            old["scheme"] = scheme_of(old.pop("negatives"))
        if "lr_schedule" in old:
            old["_schedule"] = old.pop("lr_schedule")
        self.__dict__.update(old)

    def _new_optimizer(self) -> Optimizer:
        """Make the optimiser of all parameters: none of them, if learning in closed form."""
        return optimizers.make_optimizer(self._source, self.learner.parameters(), self.lr)

    def reset_optimizer(self, optimizer: Any = None) -> None:
        """Let the optimiser start anew, or another one take its place."""
        if optimizer is not None:
            self._source = optimizers.source_of(optimizer)
        self.optimizer = self._new_optimizer()
        if self.offload is not None:
            self.offload.forget_states()

    def _check_offload(self) -> None:
        """Refuse to train with layers in files what needs more of them than one."""
        if self.schedule != "greedy":
            raise ConfigurationError("offload trains one layer at a time: use schedule='greedy'")
        if self.input_dropout:
            raise ConfigurationError(
                "offload keeps what a layer answers to each example as it is: leave input_dropout=0"
            )
        if self.scheme not in ("all", "uniform"):
            raise ConfigurationError(
                f"negatives='{self.negatives}' may ask every layer in every step: with offload, "
                "use 'all' or 'uniform'"
            )

    @property
    def optimizer_name(self) -> str:
        """The name of the optimiser: ``adam``, or that of its class with its settings."""
        return name_of(self._source)

    @property
    def lr_schedule(self) -> str:
        """The name of the schedule of the step size."""
        return name_of(self._schedule)

    @lr_schedule.setter
    def lr_schedule(self, given: Any) -> None:
        self._schedule = schedule_of(given)

    @property
    def negatives(self) -> str:
        """The name of the scheme of negatives."""
        return name_of(self.scheme)

    def __repr__(self) -> str:
        scaled = "" if self.learner.standardised else f", standardise={self.standardise}"
        hidden = f", input_dropout={self.input_dropout}" if self.input_dropout else ""
        return (
            f"Trainer(lr={self.lr}, negatives='{self.negatives}', schedule='{self.schedule}', "
            f"seed={self.seed}{scaled}{hidden}, epochs_done={self.epochs_done})\n{self.learner!r}"
        )

    def step(
        self,
        x: Tensor | Array,
        y: Tensor | Array,
        task: Task = None,
        *,
        weight: Tensor | None = None,
        known: Winners | None = None,
        hooks: StepHooks = NO_HOOKS,
        clock: Clock = Clock(),  # noqa: B008 (frozen)
    ) -> Tensor:
        """Learn from one batch through a strategy's hooks; return its loss, detached.

        ``weight`` (batch,) is what each example counts; those of `StepHooks.extra_batch` count one.
        ``known`` are the latents of the layer below the one that is trained, as in `Network.scan`.
        """
        batch = Batch(*pair_of(x, y, self.learner.device), task)
        with self.learner.threads(len(batch.y)):
            return self._step(batch, weight, known, hooks, clock)

    def _step(
        self,
        new: Batch,
        weight: Tensor | None,
        known: Winners | None,
        hooks: StepHooks,
        clock: Clock,
    ) -> Tensor:
        self._check_growth()
        if self.offload is not None:
            self.offload.hold(self.layer or 0, self.optimizer, self._source)
        batch, extra = new, hooks.extra_batch(clock)
        if extra is not None:
            batch = join([batch, extra])
            if weight is not None:
                weight = torch.cat([weight, weight.new_ones(len(extra.y))])
        check_finite(batch.x, " of the batch")
        if self.learner.closed_form:
            return self._observe(batch, clock)
        if self.input_dropout:
            self.learner.check_features(batch.x)
            gaps = with_gaps(batch.x, self.input_dropout, self.learner.mean, self.rng)
            batch = batch._replace(x=gaps)
        if hooks.has_extra_loss:
            loss = self._backward_with_term(batch, weight, hooks, clock)
        else:
            loss = self.learner.backward(*batch, **self._options(batch, weight, known))
        hooks.add_penalty_gradients(self.learner)
        hooks.after_backward(self.learner, clock)
        self.optimizer.step()
        hooks.after_step(self.learner)
        hooks.after_batch(self.learner, Step(new, extra, loss, self.optimizer, clock))
        return loss

    def _backward_with_term(
        self, batch: Batch, weight: Tensor | None, hooks: StepHooks, clock: Clock
    ) -> Tensor:
        """Set the gradients of the loss and a strategy's term together."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.learner.loss(*batch, **self._options(batch, weight))
        term = hooks.extra_loss(self.learner, batch, clock)
        if term is not None:
            loss = loss + term
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def _observe(self, batch: Batch, clock: Clock) -> Tensor:
        """Learn without a gradient, which a second pass would not change; there is no loss."""
        if clock.epoch == 0:
            self.learner.observe(*batch)
        return torch.zeros((), device=self.learner.device)

    def loss(self, x: Tensor | Array, y: Tensor | Array, task: Task = None) -> Tensor:
        """Return the loss of a batch under this trainer's negatives and schedule."""
        batch = Batch(*pair_of(x, y, self.learner.device), task)
        return self.learner.loss(*batch, **self._options(batch))

    def _options(
        self, batch: Batch, weight: Tensor | None = None, known: Winners | None = None
    ) -> dict[str, Any]:
        """Return what the learner's loss takes beside the batch."""
        options: dict[str, Any] = {} if weight is None else {"weight": weight}
        if known is not None:
            options["known"] = known
        if not self.learner.contrastive:
            return options
        pairs = negative_labels.draw(self.scheme, self.learner, *batch[:2], self.rng, batch.task)
        return {**options, "candidates": pairs, "layer": self.layer}

    def add_classes(self, classes: Sequence[int], task: int | None = None) -> list[Growth]:
        """Let the learner meet classes, and the optimiser take what grew, which is returned."""
        growths = self.learner.add_classes(classes, task)
        update_optimizer(self.optimizer, growths)
        return growths

    def deepen(self, width: int) -> None:
        """Add a layer to the network and train only it from now on."""
        update_optimizer(self.optimizer, self.learner.deepen(width))
        self.layer = self.learner.depth - 1

    def fit(
        self,
        x: Tensor | Array | Iterable[Any],
        y: Tensor | Array | None = None,
        epochs: int = 1,
        batch_size: int = 512,
        *,
        weight: Tensor | Array | None = None,
        done: int = 0,
        watch: Watched | None = None,
        callbacks: Iterable[Callback] = (),
        on_epoch: Callable[[Epoch], object] | None = None,
        on_batch: Callable[[int, int], object] | None = None,
    ) -> list[Epoch]:
        """Train for some epochs (for each layer, if greedy) and return what each came to.

        Classes not met before are met, and a learner that is not standardised is, unless the
        trainer has ``standardise=False``. ``weight`` (N,) is what each example counts in the loss;
        ``done`` epochs (of the layer at hand, if greedy) were had before; ``watch`` names pairs of
        examples and labels whose accuracy is taken after each epoch. ``on_epoch`` and ``on_batch``
        are old forms of ``callbacks``.

        Without ``y``, ``x`` is an iterable of batches (x, y), such as a DataLoader of torch, which
        decides about their size and order; it is gone through once before, to meet the classes.
        """
        given: dict[str, tuple[Any, int]] = {"batch_size": (batch_size, 1), "epochs": (epochs, 0)}
        for name, (number, least) in given.items():
            if not isinstance(number, numbers.Integral) or number < least:
                raise ConfigurationError(
                    f"{name} must be a whole number of at least {least}, got {number!r}"
                )
        batch_size = min(batch_size, LARGEST_BATCH)
        examples, batch_size, order = self._examples(x, y, weight, batch_size)
        listeners = [*callbacks, *old_callbacks(on_epoch, on_batch)]
        layers = self._layers_to_train()
        steps = (epochs * len(layers) - done) * -(-len(examples) // batch_size)
        history: list[Epoch] = []
        for layer in layers:
            self.layer = layer
            if self.offload is not None:
                self._begin_layer(self.offload, examples)
            try:
                history += self.run_epochs(
                    examples,
                    range(done, epochs),
                    batch_size,
                    order,
                    watch=watch,
                    callbacks=listeners,
                    step=sum(-(-len(examples) // batch_size) for _ in history),
                    steps=steps,
                )
            except StopTraining as stop:
                history += stop.history
                break
            done = 0
        if self.offload is not None:
            self.save(self.offload.folder, self.offload.notes)
        return history

    def _begin_layer(self, offload: Offload, examples: Examples) -> None:
        """Bring the layer at hand into memory, and the answers of the one below onto disk."""
        if not isinstance(examples, Arrays):
            raise ConfigurationError("offload needs arrays, fit(x, y): batches have no fixed place")
        layer = self.layer or 0
        offload.hold(layer, self.optimizer, self._source)
        self.save(offload.folder, offload.notes)
        examples.known = offload.known(layer, examples.x)

    def _examples(
        self, x: Any, y: Any, weight: Any, batch_size: int
    ) -> tuple[Examples, int, Callable[[int], Array]]:
        """Return what an epoch goes through, examples a step, and the order of an epoch."""
        if y is None:
            if weight is not None:
                raise ConfigurationError("batches of an iterable have no weights")
            batches = Batches(x)
            self._prepare(Arrays(*batches.survey()))
            return batches, 1, batches.order
        arrays = Arrays(
            *pair_of(x, y, self.learner.device), weights_of(weight, len(y), self.learner.device)
        )
        check_finite(arrays.x)
        self._prepare(arrays)
        return arrays, batch_size, lambda _: self.rng.permutation(len(arrays))

    def run_epochs(
        self,
        examples: Examples,
        epochs: Sequence[int],
        batch_size: int,
        order: Callable[[int], Array],
        *,
        hooks: StepHooks = NO_HOOKS,
        experience: int = 0,
        first_batch: int = 0,
        watch: Watched | None = None,
        callbacks: Sequence[Callback] = (),
        step: int = 0,
        steps: int = 0,
    ) -> list[Epoch]:
        """Go through examples epoch by epoch: the one loop, whoever asks.

        ``epochs`` are the numbers of those to go, counted from those had before: the step size
        falls, if it does, from the start of epoch 0 to the end of the last.
        ``order`` draws the places of the examples in an epoch; ``first_batch`` of the first epoch
        were had before; ``step`` of ``steps`` of the whole run are done. A callback that stops
        the run raises `StopTraining` here, which `fit` and `continual.run` catch.
        """
        history: list[Epoch] = []
        weights: Tensor | None = getattr(examples, "weights", None)
        known: Latents | None = getattr(examples, "known", None)
        for epoch in epochs:
            started = time.perf_counter()
            ordered = torch.as_tensor(order(epoch))
            batches = torch.split(ordered, batch_size)
            total = torch.zeros((), dtype=torch.float64, device=self.learner.device)
            where = self.learner, experience, epoch
            now = Progress(*where, first_batch, len(batches), step, steps, total)
            for number in range(first_batch, len(batches)):
                clock = Clock(experience, epoch, number)
                self._set_lr((epoch + number / len(batches)) / (epochs[-1] + 1))
                places = batches[number]
                weight = None if weights is None else weights[places]
                batch = examples.take(places)
                given: dict[str, Any] = {"weight": weight, "hooks": hooks, "clock": clock}
                if known is not None:
                    given["known"] = known.take(places)
                loss = self.step(*batch, **given)
                total += loss * len(places)
                step += 1
                now = Progress(*where, number + 1, len(batches), step, steps, loss, len(places))
                if notify(callbacks, "on_batch_end", now):
                    raise StopTraining(history)
            trained = len(ordered) - first_batch * batch_size
            history.append(self._finished(float(total) / max(trained, 1), started, watch or {}))
            first_batch = 0
            hooks.after_epoch(self.learner, history[-1], Clock(experience, epoch, now.batch))
            if notify(callbacks, "on_epoch_end", now, history[-1]):
                break
        self._set_lr(0.0)
        return history

    def _set_lr(self, progress: float) -> None:
        """Set the step size for a share of the epochs done."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * lr_factor(self._schedule, progress)

    def _finished(self, loss: float, started: float, watch: Watched) -> Epoch:
        """Return what an epoch came to; refuse a loss that is not finite."""
        if not np.isfinite(loss):
            raise DivergedError(
                f"the loss is {loss} after epoch {self.epochs_done + 1}: lower lr", loss
            )
        self.epochs_done += 1
        seconds = time.perf_counter() - started
        taken = {name: accuracy(self.learner, *pair) for name, pair in watch.items()}
        return Epoch(
            number=self.epochs_done,
            loss=loss,
            seconds=seconds,
            layer=self.layer,
            accuracy={name: total for name, (total, _) in taken.items()},
            layer_accuracy={name: layers for name, (_, layers) in taken.items()},
        )

    def _prepare(self, examples: Arrays) -> None:
        """Meet the classes of the examples, and standardise a learner that is not."""
        new = sorted({*torch.unique(examples.y).tolist()} - {*self.learner.classes})
        if new:
            self.add_classes(new)
        if self.standardise and not self.learner.standardised and not self.epochs_done:
            self.learner.check_features(examples.x)
            self.learner.standardise(*scale_of(examples.x.cpu().numpy()))

    def _check_growth(self) -> None:
        """Refuse to go on when the learner has weights that the optimiser does not know."""
        learner = self.learner
        shape = len(learner.classes), len(learner.tasks), learner.depth
        if shape == self._checked:
            return
        known = {id(p) for group in self.optimizer.param_groups for p in group["params"]}
        if any(id(parameter) not in known for parameter in self.learner.parameters()):
            raise ConfigurationError(
                "the learner grew without its trainer: call add_classes and deepen of the trainer, "
                "or make a new one"
            )
        self._checked = shape

    def _layers_to_train(self) -> list[int | None]:
        if self.schedule == "greedy":
            return list(range(self.layer or 0, self.learner.depth))
        return [self.layer]


class DivergedError(ConfigurationError):
    """Training that ran away; ``loss`` is what it came to, if that is what told."""

    def __init__(self, message: str, loss: float | None = None) -> None:
        super().__init__(message)
        self.loss = loss


def _check_choice(name: str, given: object, known: Sequence[str]) -> None:
    if given not in known:
        hint = nearest(str(given), list(known))
        raise ConfigurationError(f"unknown {name} '{given}'{hint}; known: {', '.join(known)}")
