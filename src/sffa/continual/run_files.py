"""Checkpoints of a run: when they are written, and how a run goes on or branches from one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.continual import checkpoint as checkpoint_file
from sffa.continual.checkpoint import RunState
from sffa.continual.config import ContinualConfig
from sffa.continual.result import Result
from sffa.continual.strategies.base import Strategy
from sffa.continual.stream import AnyStream
from sffa.continual.undeclared import changed
from sffa.core import Learner, Trainer
from sffa.core.optimizer import source_of
from sffa.errors import SFFAWarning
from sffa.extension import name_of
from sffa.standardise import RunningScale


class RunFiles:
    """The part of a `ContinualRun` that writes and reads files; the attributes are the run's."""

    config: ContinualConfig
    stream: AnyStream
    trainer: Trainer
    strategy: Strategy
    state: RunState
    result: Result
    scale: RunningScale
    identity: dict[str, Any]
    checkpoint: Path | None
    keep: Path | None
    every: int
    _digests: dict[str, Any]
    _undeclared: list[str]

    @property
    def learner(self) -> Learner:
        """The network that learns."""
        return self.trainer.learner

    def save(self) -> None:
        """Write the checkpoint, if there is to be one."""
        if self.keep is not None and not self.state.entered and not self.state.classes:
            self.write(self.keep / f"{self.state.experience:04d}.safetensors")
        if self.checkpoint is not None:
            self.write(self.checkpoint)

    def write(self, path: Path) -> None:
        """Write a checkpoint to a file."""
        self._look_for_undeclared(path)
        checkpoint_file.save(
            path,
            self.identity,
            self.trainer,
            self.strategy,
            self.state,
            self.result,
            self._undeclared,
            _tensors(self.scale),
        )

    def _look_for_undeclared(self, path: Path) -> None:
        """Warn, once, of what a strategy changed that its checkpoint will not hold."""
        found = changed(self.strategy, self.learner, self._digests)
        if found and not self._undeclared:
            warnings.warn(
                f"{found[0]} changed and is in neither parameter_state nor buffers: "
                f"{path} does not hold it, and no run can go on from there; keep it in "
                "one of the two, or name it in 'transient' if it is computed again",
                SFFAWarning,
                stacklevel=2,
            )
        self._undeclared = found

    def _resume(self, path: Path) -> None:
        found = self.identity, self.strategy, self.result, self.stream
        self._take_over(*checkpoint_file.load(path, *found, self.every))

    def _branch(self, path: Path) -> None:
        found = self.identity, self.strategy, self.result, self.stream
        self._take_over(*checkpoint_file.branch(path, *found))
        self.trainer.lr, self.trainer.lr_schedule = self.config.lr, self.config.lr_schedule
        if name_of(source_of(self.config.optimizer)) != self.trainer.optimizer_name:
            self.trainer.reset_optimizer(self.config.optimizer)

    def _take_over(self, trainer: Trainer, state: RunState, own: dict[str, Tensor]) -> None:
        """Go on with what a checkpoint held."""
        self.trainer, self.state = trainer, state
        if "count" in own:
            self.scale.count = float(own["count"])
            self.scale.mean, self.scale.squares = own["mean"].numpy(), own["squares"].numpy()
        self.learner.use_backend(self.config.backend)


def _tensors(scale: RunningScale) -> dict[str, Tensor]:
    """Return a running scale as tensors; nothing if no example was met."""
    if not scale.count:
        return {}
    values = {"count": np.array(scale.count), "mean": scale.mean, "squares": scale.squares}
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in values.items()}
