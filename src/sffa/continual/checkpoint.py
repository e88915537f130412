"""Checkpoints: one safetensors file from which a run goes on as if it had never stopped."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from torch import Tensor

from sffa.continual.config import ContinualConfig, current_options
from sffa.continual.options import own
from sffa.continual.result import Result
from sffa.continual.strategies.base import Strategy
from sffa.continual.stream import AnyStream
from sffa.core import Trainer
from sffa.core.training_state import said
from sffa.errors import ConfigurationError, ModelFileError
from sffa.record import config_hash

# What a branch may set otherwise than the run it starts from.
FREE = (
    *("method", "options", "lr", "lr_schedule", "epochs", "batch_size", "evaluate_every"),
    *("optimizer", "backend", "branch"),
)
_RUN = "run."  # before the names of tensors that are the run's own
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
_Percent = Annotated[float, Field(ge=-1, le=101, allow_inf_nan=False, strict=True)]
_Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
_Natural = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


@dataclass
class RunState:
    """Where a run stands: the next batch of the next epoch of an experience.

    ``entered`` tells whether its classes are met; ``seconds`` were spent since the last evaluation,
    on experiences of ``classes``, before a stop.
    """

    experience: int = 0
    epoch: int = 0
    batch: int = 0
    steps: int = 0
    entered: bool = False
    seconds: float = 0.0
    classes: list[int] = field(default_factory=list)


def save(
    path: Path,
    identity: dict[str, Any],
    trainer: Trainer,
    strategy: Strategy,
    state: RunState,
    result: Result,
    undeclared: Sequence[str] = (),
    extra: Mapping[str, Tensor] | None = None,
) -> None:
    """Write learner, optimiser, strategy, position and the result so far, whole or not at all.

    ``undeclared`` are attributes of the strategy that changed and are not in the file; ``extra``
    are tensors of the run itself.
    """
    notes = {
        "continual": identity,
        "position": asdict(state),
        "rows": result.rows,
        "per_class": [[label, value] for label, value in result.per_class.items()],
        "experiences": result.experiences,
        "within": result.within,
        "pending": result.pending,
        "seconds": result.seconds,
        "peak_memory_mb": result.peak_memory_mb,
        "undeclared": list(undeclared),
        "held": result.held,
        "seen": result.seen,
        "learned": result.learned,
        "chances": result.chances,
    }
    of_run = {f"{_RUN}{name}": tensor for name, tensor in (extra or {}).items()}
    trainer.save(path, notes, {**strategy.tensors(), **of_run})


def load(
    path: Path,
    identity: dict[str, Any],
    strategy: Strategy,
    result: Result,
    stream: AnyStream,
    every: int = 1,
) -> tuple[Trainer, RunState, dict[str, Tensor]]:
    """Read a checkpoint of the same configuration into ``strategy`` and ``result``.

    There is an evaluation after ``every`` experiences. Return the trainer, the position and the
    tensors of the run itself.
    """
    trainer, found, extra = _read(path, result, every)
    _same(path, found.continual, identity)
    _check_declared(path, found)
    strategy.restore({name: t for name, t in extra.items() if not name.startswith(_RUN)})
    _check_state(path, strategy, trainer, stream)
    found.write_into(result)
    return trainer, found.position, _of_run(extra)


def branch(
    path: Path, identity: dict[str, Any], strategy: Strategy, result: Result, stream: AnyStream
) -> tuple[Trainer, RunState, dict[str, Tensor]]:
    """Read a kept checkpoint of a run that may have had another method; as `load` does otherwise.

    Of the strategy's parts, those that the other run had too, with the same options, take over
    what they kept; the others begin here.
    """
    trainer, found, extra = _read(path, result, 1)
    _same(path, found.continual, identity, FREE)
    if found.position.entered or found.position.experience == 0:
        raise ConfigurationError(f"{path} is not the end of an experience: nothing to branch from")
    parts = strategy.members
    theirs, ours = (_parts(config) for config in (found.continual.config, identity["config"]))
    several = len(theirs) > 1
    for part, mine in zip(parts, ours, strict=True):
        if mine in theirs:
            _check_declared(path, found)
            mark = f"{theirs.index(mine)}." if several else ""
            kept = {n: t for n, t in extra.items() if n.startswith(mark)}
            named = {n.removeprefix(mark): t for n, t in kept.items() if not n.startswith(_RUN)}
            part.restore(named)
    _check_state(path, strategy, trainer, stream)
    found.write_into(result)
    return trainer, found.position, _of_run(extra)


def branch_of(path: Path) -> str:
    """Return what a run that starts at a checkpoint is a branch of: the other's hash and place."""
    notes = Trainer.load_run(path)[1]
    try:
        config, place = notes["continual"]["config"], notes["position"]["experience"]
        return f"{config_hash(config)}@{int(place)}"
    except (LookupError, TypeError, ValueError):
        raise ModelFileError(f"{path} is no checkpoint of a continual run") from None


def _parts(config: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the strategies of a configuration, each with its options."""
    return [(part, own(part, config["options"])) for part in str(config["method"]).split("+")]


def _of_run(extra: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(_RUN): t for n, t in extra.items() if n.startswith(_RUN)}


def _read(path: Path, result: Result, every: int) -> tuple[Trainer, _Notes, dict[str, Tensor]]:
    """Read a checkpoint, and refuse one that no run could have written."""
    trainer, notes, extra = Trainer.load_run(path)
    if "continual" not in notes:
        raise ModelFileError(f"{path} is a model, not a checkpoint of a continual run")
    try:
        found = _Notes(**notes, told=notes["experiences"])
        if not {*asdict(RunState())} - {"classes"} <= {*notes["position"]} <= {*asdict(RunState())}:
            raise ValueError("a position that is not whole")
        found.check(len(result.chances), result.total, every)
    except (ValidationError, ValueError, TypeError, LookupError) as error:
        raise ModelFileError(f"{path} holds a run that cannot go on: {said(error)}") from None
    return trainer, found, extra


def _check_declared(path: Path, found: _Notes) -> None:
    """Refuse a checkpoint of a strategy that kept more than the file holds."""
    if found.undeclared:
        raise ConfigurationError(
            f"checkpoint {path} lacks what the strategy kept outside its state: "
            f"{', '.join(found.undeclared)[:200]!r}; keep it in parameter_state or buffers, and "
            "start again without that file"
        )


class _Experience(BaseModel):
    classes: list[_Natural]
    seconds: _Amount
    memory_mb: _Amount
    strategy_mb: _Amount


class _Identity(BaseModel):
    config: dict[str, Any]
    data: list[Any]
    code: dict[str, str] = {}


class _Notes(BaseModel):
    """What a checkpoint says beside its tensors."""

    continual: _Identity
    position: RunState
    rows: Annotated[list[list[_Percent]], Field(min_length=1)]
    per_class: list[tuple[_Natural, _Percent]]
    experiences: list[_Experience]
    within: list[dict[str, _Natural | _Number | list[_Percent]]] = []
    pending: list[tuple[_Number, _Natural]] = []
    seconds: _Amount
    peak_memory_mb: _Amount
    undeclared: list[str] = []
    told: list[dict[str, Any]] = []  # the experiences as the file has them, with all they say
    held: list[list[_Percent]] = []
    seen: list[_Natural] = []
    learned: list[_Natural | None] | None = None
    chances: list[_Percent] = []

    def write_into(self, result: Result) -> None:
        """Write the result so far."""
        result.rows = self.rows
        result.held, result.seen = self.held, self.seen or list(range(len(self.rows)))
        if self.chances:
            result.learned, result.chances = self.learned, self.chances
        result.per_class = dict(self.per_class)
        result.experiences = self.told
        result.within, result.pending = [dict(point) for point in self.within], self.pending
        result.seconds = self.seconds
        result.peak_memory_mb = self.peak_memory_mb

    def check(self, count: int, total: int | None, every: int) -> None:
        """Refuse a position that does not go with the results, parts or experiences."""
        at = self.position
        seen = self.seen or list(range(len(self.rows)))
        numbers = at.experience, at.epoch, at.batch, at.steps
        if not all(0 <= number < 2**53 for number in numbers) or not 0 <= at.seconds < math.inf:
            raise ValueError(f"a position of {numbers}")
        ascending = seen[0] == 0 and all(a < b for a, b in pairwise(seen))
        end = math.inf if total is None else total
        if not len(self.experiences) + 1 == len(self.rows) == len(seen) or not (
            ascending and seen[-1] <= at.experience <= min(end, seen[-1] + every - 1)
        ):
            raise ValueError(
                f"{len(self.rows)} rows and {len(self.experiences)} experiences at experience "
                f"{at.experience} of {total}"
            )
        if any(len(row) != count for row in [*self.rows, *self.held]):
            raise ValueError(f"a row without {count} accuracies")
        if len(self.held) not in (0, len(self.rows)):
            raise ValueError(f"{len(self.held)} rows of held-out accuracy for {len(self.rows)}")
        if self.chances and len(self.chances) != count:
            raise ValueError(f"{len(self.chances)} chances for {count} parts")
        if self.learned is not None and len(self.learned) != count:
            raise ValueError(f"{len(self.learned)} parts learned of {count}")


def _check_state(path: Path, strategy: Strategy, trainer: Trainer, stream: AnyStream) -> None:
    """Refuse a strategy's tensors that do not go with the weights, or with the stream."""
    shapes = {name: p.shape for name, p in trainer.learner.named_parameters()}
    for part in strategy.members:
        for kind, tensors in part.parameter_state.items():
            for name, tensor in tensors.items():
                if tensor.shape != shapes.get(name):
                    what = f"has the shape {tuple(tensor.shape)}"
                elif tensor.is_complex() or not bool(tensor.isfinite().all()):
                    what = "holds numbers that are not finite"
                else:
                    continue
                raise ModelFileError(
                    f"{path} holds a run that cannot go on: {kind[:60]} of {name[:60]} {what}"
                )
    try:
        strategy.check_restored(trainer.learner, stream)
    except ModelFileError as error:
        raise ModelFileError(f"{path} holds a run that cannot go on: {error}") from None


def _same(path: Path, found: _Identity, wanted: dict[str, Any], free: Collection[str] = ()) -> None:
    """Refuse a checkpoint of another configuration, naming what differs; ``free`` fields may."""
    added = {name: f.get_default() for name, f in ContinualConfig.model_fields.items()}
    theirs, ours = {**added, **current_options(found.config)}, {**added, **wanted["config"]}
    for key in {**theirs, **ours}:
        if theirs.get(key) != ours.get(key) and key not in free:
            raise ConfigurationError(
                f"checkpoint {path} belongs to another configuration: its {key} is "
                f"{theirs.get(key)!r}, this run's is {ours.get(key)!r}; use another file or "
                "remove it"
            )
    if found.data != list(wanted["data"])[: len(found.data)] or not found.data:
        raise ConfigurationError(
            f"checkpoint {path} was made with other data: (training, test, features, checksum) = "
            f"{found.data[:9]}, now {wanted['data']}; use another file or remove it"
        )
    for name, digest in wanted["code"].items():
        if found.code.get(name, digest) != digest:
            raise ConfigurationError(
                f"checkpoint {path} was made with another source of {name}; use another file or "
                "remove it"
            )
