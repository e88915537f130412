"""The trainer: batches in, weights changed, everything it needs to go on later in one state."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from sffa.core import negatives as negative_room
from sffa.core.growth import update_optimizer
from sffa.core.learner import BLOCK, Array, Learner, Task, part_of, tensor_of
from sffa.core.negatives import Negatives
from sffa.core.network import Network
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, DataError, nearest

SCHEDULES = ("online", "greedy")


@dataclass(frozen=True)
class Epoch:
    """What one pass over the data came to; accuracies in percent."""

    number: int
    loss: float
    seconds: float
    layer: int | None = None
    accuracy: dict[str, float] = field(default_factory=dict)
    layer_accuracy: dict[str, list[float]] = field(default_factory=dict)


class Trainer:
    """Adam over a learner, one batch or many epochs at a time.

    Parameters
    ----------
    learner
        What to train: a `Network` or a `Backprop`.
    lr
        Adam's step size.
    negatives
        ``"all"`` labels, or a pair with a ``"uniform"`` or ``"hard"`` wrong label.
    schedule
        ``"online"``: every layer sees every batch; ``"greedy"``: one layer to the end, then the
        next, the earlier ones frozen.
    seed
        Of the order of examples and of the negatives.

    Examples
    --------
    >>> import torch, sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> trainer = sffa.Trainer(net)
    >>> loss = trainer.step(torch.eye(4), torch.tensor([0, 0, 1, 1]))
    """

    def __init__(
        self,
        learner: Learner,
        lr: float = 1e-3,
        negatives: Negatives = "all",
        schedule: Literal["online", "greedy"] = "online",
        seed: int = 0,
    ) -> None:
        if negatives not in negative_room.KINDS:
            hint = nearest(str(negatives), list(negative_room.KINDS))
            raise ConfigurationError(
                f"unknown negatives '{negatives}'{hint}; known: all, uniform, hard"
            )
        if schedule not in SCHEDULES:
            hint = nearest(str(schedule), list(SCHEDULES))
            raise ConfigurationError(f"unknown schedule '{schedule}'{hint}; known: online, greedy")
        if not isinstance(learner, Network) and (negatives != "all" or schedule != "online"):
            raise ConfigurationError(
                "back-propagation has no negatives and no greedy schedule: "
                "leave negatives='all' and schedule='online'"
            )
        if not lr > 0:
            raise ConfigurationError(f"lr must be positive, got {lr}")
        if seed < 0:
            raise ConfigurationError(f"seed must not be negative, got {seed}")
        self.learner = learner
        self.lr = lr
        self.negatives: Negatives = negatives
        self.schedule = schedule
        self.seed = seed
        self.layer: int | None = 0 if schedule == "greedy" else None
        self.epochs_done = 0
        self.rng = generator(seed, "training")
        self.optimizer = torch.optim.Adam(learner.parameters(), lr=lr, fused=True)

    def step(self, x: Tensor | Array, y: Tensor | Array, task: Task = None) -> Tensor:
        """Learn from one batch and give its loss, detached."""
        self._check_growth()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(x, y, task)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    def loss(self, x: Tensor | Array, y: Tensor | Array, task: Task = None) -> Tensor:
        """Return the loss of a batch under this trainer's negatives and schedule."""
        x = tensor_of(x, self.learner.device)
        y = tensor_of(y, self.learner.device)
        if len(x) != len(y) or not len(x):
            raise DataError(f"a batch needs as many labels as examples, got {len(x)} and {len(y)}")
        if not isinstance(self.learner, Network):
            return self.learner.loss(x, y, task)
        pairs = negative_room.draw(self.negatives, self.learner, x, y, self.rng, task)
        return self.learner.loss(x, y, task, candidates=pairs, layer=self.layer)

    def add_classes(self, classes: Sequence[int], task: int | None = None) -> None:
        """Let the learner meet classes, and the optimiser follow what grew."""
        update_optimizer(self.optimizer, self.learner.add_classes(classes, task))

    def deepen(self, width: int) -> None:
        """Add a layer to the network and train only it from now on."""
        if not isinstance(self.learner, Network):
            raise ConfigurationError("only forward-forward networks can be deepened")
        update_optimizer(self.optimizer, self.learner.deepen(width))
        self.layer = len(self.learner.layers) - 1

    def fit(
        self,
        x: Tensor | Array,
        y: Tensor | Array,
        epochs: int = 1,
        batch_size: int = 512,
        *,
        done: int = 0,
        watch: dict[str, tuple[Any, Any]] | None = None,
        on_epoch: Callable[[Epoch], object] | None = None,
        on_batch: Callable[[int, int], object] | None = None,
    ) -> list[Epoch]:
        """Train for some epochs (for each layer, if greedy) and give what each came to.

        ``done`` epochs (of the layer at hand, if greedy) were had before, and are not had again;
        ``watch`` names pairs of examples and labels whose accuracy is taken after each epoch;
        ``on_batch`` is told how many batches of how many are done.
        """
        if len(x) != len(y):
            raise DataError(f"{len(x)} examples and {len(y)} labels do not match")
        if batch_size < 1 or epochs < 0:
            raise ConfigurationError(
                f"batch_size must be positive and epochs not negative, got {batch_size}, {epochs}"
            )
        history = []
        for layer in self._layers_to_train():
            self.layer = layer
            for _ in range(epochs - done):
                epoch = self._epoch(x, y, batch_size, watch or {}, on_batch)
                history.append(epoch)
                if on_epoch is not None:
                    on_epoch(epoch)
            done = 0
        return history

    def _check_growth(self) -> None:
        """Refuse to go on when the learner has weights that the optimiser does not know."""
        known = {id(p) for group in self.optimizer.param_groups for p in group["params"]}
        if any(id(parameter) not in known for parameter in self.learner.parameters()):
            raise ConfigurationError(
                "the learner grew without its trainer: call add_classes and deepen of the trainer, "
                "or make a new one"
            )

    def _layers_to_train(self) -> list[int | None]:
        if self.schedule == "greedy" and isinstance(self.learner, Network):
            return list(range(self.layer or 0, len(self.learner.layers)))
        return [self.layer]

    def _epoch(
        self,
        x: Tensor | Array,
        y: Tensor | Array,
        batch_size: int,
        watch: dict[str, tuple[Any, Any]],
        on_batch: Callable[[int, int], object] | None,
    ) -> Epoch:
        started = time.perf_counter()
        device = self.learner.device
        examples = tensor_of(x, device)
        labels = tensor_of(y, device)
        order = torch.from_numpy(self.rng.permutation(len(labels))).to(device)
        losses = torch.zeros((), dtype=torch.float64, device=device)
        batches = torch.split(order, batch_size)
        for number, chosen in enumerate(batches, start=1):
            losses += self.step(examples[chosen], labels[chosen]) * len(chosen)
            if on_batch is not None:
                on_batch(number, len(batches))
        loss = float(losses) / max(len(labels), 1)
        if not np.isfinite(loss):
            raise ConfigurationError(
                f"the loss is {loss} after epoch {self.epochs_done + 1}: lower lr"
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

    def state(self) -> dict[str, Any]:
        """Return everything but tensors that training needs to go on; JSON-ready."""
        return {
            "lr": self.lr,
            "negatives": self.negatives,
            "schedule": self.schedule,
            "seed": self.seed,
            "layer": self.layer,
            "epochs_done": self.epochs_done,
            "rng": self.rng.bit_generator.state,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner and this trainer's state to one file; see `Trainer.load`."""
        from sffa.core.storage import save

        save(path, self.learner, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trainer:
        """Read a trainer back with its learner; the next step is the one it would have taken."""
        from sffa.core.storage import load_trainer

        return load_trainer(path)


@torch.no_grad()
def accuracy(
    learner: Learner, x: Tensor | Array, y: Tensor | Array, task: Task = None, block: int = BLOCK
) -> tuple[float, list[float]]:
    """Return the percentage of right predictions, and each layer's own (none for the baseline)."""
    examples = tensor_of(x, learner.device)
    labels = learner.columns(y)
    right = torch.zeros((), dtype=torch.int64, device=learner.device)
    by_layer: Tensor | int = 0
    for start in range(0, len(labels), block):
        part, wanted = examples[start : start + block], labels[start : start + block]
        given = part_of(task, start, block)
        candidates = learner.candidates(len(part), given)
        if isinstance(learner, Network):
            scores = learner.layer_scores(part, given)
            best = candidates.expand(len(scores), -1, -1).gather(2, scores.argmax(2, keepdim=True))
            by_layer = by_layer + (best.squeeze(2) == wanted).sum(dim=1)
            total = scores.mean(dim=0)
        else:
            total = learner.outputs(part, given)
        chosen = candidates.gather(1, total.argmax(dim=1, keepdim=True)).squeeze(1)
        right += (chosen == wanted).sum()
    percent = 100.0 / max(len(labels), 1)
    layers = (by_layer * percent).tolist() if isinstance(by_layer, Tensor) else []
    return float(right) * percent, layers
