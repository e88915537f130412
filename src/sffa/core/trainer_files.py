"""A trainer in files: what it needs to go on later, and the way back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from sffa.core import optimizer as optimizers
from sffa.core import storage
from sffa.core.learner import Learner
from sffa.core.lr_schedule import LRSchedule
from sffa.core.model_files import reopened, restored
from sffa.core.negatives import Negatives, NegativeScheme
from sffa.core.offload import Offload
from sffa.core.training_state import TrainingState
from sffa.errors import ConfigurationError, ModelFileError, SFFAError
from sffa.extension import kept_name


class TrainerFiles:
    """The part of a `Trainer` that writes and reads files; the attributes are the trainer's."""

    learner: Learner
    lr: float
    scheme: Negatives | NegativeScheme
    schedule: str
    seed: int
    layer: int | None
    epochs_done: int
    rng: np.random.Generator
    optimizer: Optimizer
    offload: Offload | None = None
    input_dropout: float = 0.0  # of the class too: earlier pickles have none, as of the two below
    _source: optimizers.Source = optimizers.ADAM
    _schedule: LRSchedule = "constant"

    def state(self) -> dict[str, Any]:
        """Return everything but tensors that training needs to go on; JSON-ready."""
        own: dict[str, Any] = {}
        if self._source != optimizers.ADAM:
            own = {"optimizer": kept_name("optimizer", self._source)}
            own["optimizer_numbers"] = optimizers.numbers_of(self.optimizer, self._names())
        if self.input_dropout:
            own["input_dropout"] = self.input_dropout
        return {
            **own,
            "lr": self.lr,
            "lr_schedule": kept_name("lr_schedule", self._schedule),
            "negatives": kept_name("negatives", self.scheme),
            "schedule": self.schedule,
            "seed": self.seed,
            "layer": self.layer,
            "epochs_done": self.epochs_done,
            "rng": self.rng.bit_generator.state,
        }

    def _names(self) -> dict[int, str]:
        return {id(parameter): name for name, parameter in self.learner.named_parameters()}

    def save(
        self,
        path: str | os.PathLike[str],
        notes: dict[str, Any] | None = None,
        extra: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Write the learner and this trainer's state to one file; see `Trainer.load`.

        ``notes`` are JSON-ready; ``extra`` are tensors by name; `Trainer.load_run` returns both.
        With ``offload``, the folder's path writes what is in memory beside the layers there: this
        is done whenever a layer begins, and may be after every epoch. Any other path writes one
        file of everything.
        """
        header = {**self.learner.header(notes), "trainer": self.state()}
        tensors = {f"extra.{name}": value for name, value in (extra or {}).items()}
        tensors |= optimizers.tensors_of(self.optimizer, self._names())
        if self.offload is not None and os.path.isdir(path):
            if not os.path.samefile(path, self.offload.folder):
                raise ConfigurationError(f"the layers are in {self.offload.folder}, not in {path}")
            self.offload.save(header, tensors)
            return
        if self.offload is not None:
            tensors |= self.offload.state_tensors()
        storage.write(path, header, {**self.learner.state_dict(), **tensors})

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Self:
        """Read a trainer back with its learner; the next step is the one it would have taken."""
        return cls.load_run(path, device)[0]

    @classmethod
    def load_run(
        cls, path: str | os.PathLike[str], device: str | torch.device = "cpu"
    ) -> tuple[Self, dict[str, Any], dict[str, Tensor]]:
        """Read a trainer, and the notes and extra tensors that were saved beside it."""
        learner: Learner | None = None
        if os.path.isdir(path):
            learner, header, tensors = reopened(path)
        else:
            header, tensors = storage.read(path)
        if header.trainer is None:
            raise ModelFileError(f"{path} holds a model without training state: nothing to resume")
        learner = learner or restored(path, header, tensors, device)
        try:
            trainer = cls._restored(learner, header.trainer, tensors)
        except SFFAError as error:
            raise ModelFileError(
                f"{path} holds a training state that cannot be used: {error}"
            ) from None
        extra = {n.removeprefix("extra."): t for n, t in tensors.items() if n.startswith("extra.")}
        return trainer, header.notes, {n: t.to(device) for n, t in extra.items()}

    @classmethod
    def _restored(cls, learner: Learner, state: dict[str, Any], tensors: dict[str, Tensor]) -> Self:
        checked = TrainingState.checked(state, learner.depth)
        given = checked.lr, checked.negatives, checked.schedule, checked.seed
        parts: dict[str, Any] = {"lr_schedule": checked.lr_schedule, "optimizer": checked.optimizer}
        if checked.input_dropout:
            parts["input_dropout"] = checked.input_dropout
        offloaded = getattr(learner, "offloaded", None)
        folder = None if offloaded is None else offloaded.folder
        make: Any = cls
        trainer: Self = make(learner, *given, **parts, offload=folder)
        trainer.layer, trainer.epochs_done = checked.layer, checked.epochs_done
        trainer.rng.bit_generator.state = checked.rng.model_dump()
        known = {n: p for n, p in learner.named_parameters() if not offloaded or n in tensors}
        numbers = checked.optimizer_numbers.model_dump()
        optimizers.restore(trainer.optimizer, trainer._source, known, tensors, numbers)
        return trainer
