"""Checkpoints: one safetensors file from which a run goes on as if it had never stopped."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sffa.continual.config import ContinualConfig, current_options
from sffa.continual.result import Result
from sffa.continual.strategies.base import Strategy
from sffa.core import Trainer
from sffa.errors import ConfigurationError, ModelFileError


@dataclass
class RunState:
    """Where a run stands: the next batch of the next epoch of an experience.

    ``entered`` tells whether its classes are met; ``seconds`` were spent on it before a stop.
    """

    experience: int = 0
    epoch: int = 0
    batch: int = 0
    steps: int = 0
    entered: bool = False
    seconds: float = 0.0


def save(
    path: Path,
    identity: dict[str, Any],
    trainer: Trainer,
    strategy: Strategy,
    state: RunState,
    result: Result,
) -> None:
    """Write learner, optimiser, strategy, position and the result so far, whole or not at all."""
    notes = {
        "continual": identity,
        "position": asdict(state),
        "rows": result.rows,
        "per_class": [[label, value] for label, value in result.per_class.items()],
        "experiences": result.experiences,
        "seconds": result.seconds,
        "peak_memory_mb": result.peak_memory_mb,
    }
    trainer.save(path, notes, strategy.tensors())


def load(
    path: Path, identity: dict[str, Any], strategy: Strategy, result: Result
) -> tuple[Trainer, RunState]:
    """Read a checkpoint of the same configuration into ``strategy`` and ``result``."""
    trainer, notes, extra = Trainer.load_run(path)
    if "continual" not in notes:
        raise ModelFileError(f"{path} is a model, not a checkpoint of a continual run")
    _same(path, notes["continual"], identity)
    strategy.restore(extra)
    result.rows = notes["rows"]
    result.per_class = {int(label): value for label, value in notes["per_class"]}
    result.experiences = notes["experiences"]
    result.seconds = notes["seconds"]
    result.peak_memory_mb = notes["peak_memory_mb"]
    return trainer, RunState(**notes["position"])


def _same(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse a checkpoint of another configuration, naming what differs."""
    added = {name: f.get_default() for name, f in ContinualConfig.model_fields.items()}
    theirs, ours = {**added, **current_options(found["config"])}, {**added, **wanted["config"]}
    for key in {**theirs, **ours}:
        if theirs.get(key) != ours.get(key):
            raise ConfigurationError(
                f"checkpoint {path} belongs to another configuration: its {key} is "
                f"{theirs.get(key)!r}, this run's is {ours.get(key)!r}; use another file or "
                "remove it"
            )
    if found["data"] != wanted["data"][: len(found["data"])]:
        raise ConfigurationError(
            f"checkpoint {path} was made with other data: (training, test, features, checksum) = "
            f"{found['data']}, now {wanted['data']}; use another file or remove it"
        )
