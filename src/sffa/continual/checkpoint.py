"""Checkpoints: one safetensors file from which a run goes on as if it had never stopped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from torch import Tensor

from sffa.continual.config import ContinualConfig, current_options
from sffa.continual.result import Result
from sffa.continual.strategies.base import Combined, Strategy
from sffa.core import Trainer
from sffa.core.training_state import said
from sffa.errors import ConfigurationError, ModelFileError

_RUN = "run."  # before the names of tensors that are the run's own
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
_Percent = Annotated[float, Field(ge=-1, le=101, allow_inf_nan=False, strict=True)]
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
        "seconds": result.seconds,
        "peak_memory_mb": result.peak_memory_mb,
        "undeclared": list(undeclared),
        "held": result.held,
        "seen": result.seen,
        "learned": result.learned,
        "chances": result.chances,
    }
    own = {f"{_RUN}{name}": tensor for name, tensor in (extra or {}).items()}
    trainer.save(path, notes, {**strategy.tensors(), **own})


def load(
    path: Path, identity: dict[str, Any], strategy: Strategy, result: Result, every: int = 1
) -> tuple[Trainer, RunState, dict[str, Tensor]]:
    """Read a checkpoint of the same configuration into ``strategy`` and ``result``.

    There is an evaluation after ``every`` experiences. Return the trainer, the position and the
    tensors of the run itself.
    """
    trainer, notes, extra = Trainer.load_run(path)
    if "continual" not in notes:
        raise ModelFileError(f"{path} is a model, not a checkpoint of a continual run")
    try:
        found = _Notes(**notes)
        if not {*asdict(RunState())} - {"classes"} <= {*notes["position"]} <= {*asdict(RunState())}:
            raise ValueError("a position that is not whole")
        found.check(len(result.chances), result.total, every)
    except (ValidationError, ValueError, TypeError) as error:
        raise ModelFileError(f"{path} holds a run that cannot go on: {said(error)}") from None
    _same(path, found.continual, identity)
    if found.undeclared:
        raise ConfigurationError(
            f"checkpoint {path} lacks what the strategy kept outside its state: "
            f"{', '.join(found.undeclared)[:200]!r}; keep it in parameter_state or buffers, and "
            "start again without that file"
        )
    strategy.restore({name: t for name, t in extra.items() if not name.startswith(_RUN)})
    _check_state(path, strategy, trainer)
    result.rows = found.rows
    result.held, result.seen = found.held, found.seen or list(range(len(found.rows)))
    if found.chances:
        result.learned, result.chances = found.learned, found.chances
    result.per_class = dict(found.per_class)
    result.experiences = notes["experiences"]
    result.seconds = found.seconds
    result.peak_memory_mb = found.peak_memory_mb
    own = {n.removeprefix(_RUN): t for n, t in extra.items() if n.startswith(_RUN)}
    return trainer, found.position, own


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
    seconds: _Amount
    peak_memory_mb: _Amount
    undeclared: list[str] = []
    held: list[list[_Percent]] = []
    seen: list[_Natural] = []
    learned: list[_Natural | None] | None = None
    chances: list[_Percent] = []

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


def _check_state(path: Path, strategy: Strategy, trainer: Trainer) -> None:
    """Refuse a strategy's tensors that do not go with the weights they stand beside."""
    shapes = {name: p.shape for name, p in trainer.learner.named_parameters()}
    for part in strategy.parts if isinstance(strategy, Combined) else [strategy]:
        for kind, tensors in part.parameter_state.items():
            for name, tensor in tensors.items():
                if tensor.shape != shapes.get(name):
                    raise ModelFileError(
                        f"{path} holds a run that cannot go on: {kind} of {name[:60]} has the "
                        f"shape {tuple(tensor.shape)}"
                    )


def _same(path: Path, found: _Identity, wanted: dict[str, Any]) -> None:
    """Refuse a checkpoint of another configuration, naming what differs."""
    added = {name: f.get_default() for name, f in ContinualConfig.model_fields.items()}
    theirs, ours = {**added, **current_options(found.config)}, {**added, **wanted["config"]}
    for key in {**theirs, **ours}:
        if theirs.get(key) != ours.get(key):
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
