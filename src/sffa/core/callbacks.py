"""Callbacks: what looks on while a learner trains, the same in static and in continual runs."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from sffa.core.learner import Learner


@dataclass(frozen=True)
class Epoch:
    """One pass over the data; accuracies in percent, by the names given to ``watch``.

    >>> import sffa
    >>> from sffa.data import load
    >>> data = load("digits")
    >>> trainer = sffa.Trainer(sffa.Backprop(data.features, hidden=(20,)), lr=1e-2)
    >>> watch = {"test": (data.test.flat, data.test.y)}
    >>> (epoch,) = trainer.fit(data.train.flat, data.train.y, epochs=1, watch=watch)
    >>> epoch.number, [*epoch.accuracy]
    (1, ['test'])
    """

    number: int
    loss: float
    seconds: float
    layer: int | None = None
    accuracy: dict[str, float] = field(default_factory=dict)
    layer_accuracy: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    ``epoch`` and ``experience`` count from zero; ``batch`` of ``batches`` are done in this epoch,
    ``step`` of ``steps`` in the whole run. ``loss`` is that of the last batch, a detached scalar,
    and ``size`` its number of examples.

    >>> import torch, sffa
    >>> from sffa.core import Callback
    >>> class Steps(Callback):
    ...     def on_batch_end(self, progress):
    ...         print(f"{progress.step} of {progress.steps}, {progress.size} examples")
    >>> trainer = sffa.Trainer(sffa.Backprop(4, hidden=(8,)))
    >>> x, y = torch.eye(4), torch.tensor([0, 0, 1, 1])
    >>> epochs = trainer.fit(x, y, epochs=1, batch_size=2, callbacks=[Steps()])
    1 of 2, 2 examples
    2 of 2, 2 examples
    """

    learner: Learner
    experience: int
    epoch: int
    batch: int
    batches: int
    step: int
    steps: int
    loss: Tensor
    size: int = 0


class Callback:
    """Nothing by itself: subclasses override what they need.

    A method that returns True stops: `on_batch_end` and `on_experience_end` the run,
    `on_epoch_end` the training on the examples at hand, so that a stream goes on with its next
    experience. The learner must be left as it is.

    Examples
    --------
    >>> class Print(Callback):
    ...     def on_epoch_end(self, progress, epoch):
    ...         print(f"epoch {epoch.number} of {progress.learner.inputs} features")
    >>> import torch, sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5)
    >>> trainer = sffa.Trainer(net)
    >>> history = trainer.fit(torch.eye(4), torch.tensor([0, 0, 1, 1]), callbacks=[Print()])
    epoch 1 of 4 features
    """

    def on_stream_begin(self, learner: Learner, stream: Any, result: Any) -> None:
        """See a stream before its first batch, or before it goes on after a stop."""

    def on_batch_end(self, progress: Progress) -> bool | None:
        """See a step; True stops the run here."""

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> bool | None:
        """See an epoch; True ends the training on these examples."""

    def on_experience_end(self, learner: Learner, result: Any) -> bool | None:
        """See the result so far of a stream, also before its first experience; True stops."""


class StopTraining(Exception):
    """Raised in the epoch loop when a callback stops the run; ``history`` holds whole epochs."""

    def __init__(self, history: list[Epoch]) -> None:
        super().__init__("a callback stopped the run")
        self.history = history


class EarlyStopping(Callback):
    """Stop when the watched accuracy has not risen for some epochs, and restore the best weights.

    Parameters
    ----------
    watch
        Name of the watched examples.
    patience
        Epochs to wait for a rise.

    Examples
    --------
    >>> import sffa
    >>> from sffa.data import load
    >>> data, held = load("digits").hold_out(200, seed=0)
    >>> trainer = sffa.Trainer(sffa.Backprop(data.features, hidden=(20,)), lr=1e-2)
    >>> watch = {"validation": (held.flat, held.y)}
    >>> epochs = trainer.fit(
    ...     *(data.train.flat, data.train.y),
    ...     100,
    ...     watch=watch,
    ...     callbacks=[EarlyStopping(patience=2)],
    ... )
    >>> len(epochs) < 100
    True
    """

    def __init__(self, watch: str = "validation", patience: int = 10) -> None:
        self.watch = watch
        self.patience = patience
        self.best: float | None = None
        self.weights: dict[str, Tensor] = {}
        self.since = 0

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> bool:
        """Keep the best weights; whether patience is over."""
        accuracy = epoch.accuracy[self.watch]
        self.since += 1
        if self.best is None or accuracy > self.best:
            self.best, self.since = accuracy, 0
            self.weights = copy.deepcopy(progress.learner.state_dict())
        return self.since >= self.patience

    def restore(self, learner: Learner) -> None:
        """Put the best weights back."""
        if self.best is not None:
            learner.load_state_dict(self.weights)


def notify(callbacks: Iterable[Callback], event: str, *given: Any) -> bool:
    """Call all callbacks; whether one of them returned True (NumPy's counts too)."""
    answers = [getattr(callback, event)(*given) for callback in callbacks]
    return any(type(answer).__name__ in ("bool", "bool_") and bool(answer) for answer in answers)
