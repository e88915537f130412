"""Static runs that were cut off: the trainer in a file, from which the same run goes on.

A hundred epochs take up to an hour, so a study that is stopped would lose most of what its workers
were at. Streams take a minute and begin anew.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sffa.core import Callback, Epoch, Progress, Trainer
from sffa.data import Dataset
from sffa.errors import SFFAError
from sffa.extension import references
from sffa.record import Record
from sffa.study.configuration import Run, file_name
from sffa.study.static import StaticConfig, make_trainer, train_static, watched

PAUSE = 60.0  # seconds between two files


class Unfinished(Callback):
    """Writes a trainer to a file after an epoch, if the last time is a while ago."""

    def __init__(
        self,
        path: Path,
        trainer: Trainer,
        environment: dict[str, Any],
        history: Sequence[Epoch] = (),
        seconds: float = 0.0,
    ) -> None:
        self.path = path
        self.trainer = trainer
        self.environment = environment
        self.history = [*history]
        self.seconds = seconds  # of the parts before this one
        self.started = self.written = time.perf_counter()

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        """Write what there is; a file that cannot be written does not end the run."""
        self.history.append(epoch)
        now = time.perf_counter()
        if now - self.written < PAUSE:
            return
        self.written = now
        notes = {
            "environment": self.environment,
            "history": [asdict(each) for each in self.history],
            "seconds": self.seconds + now - self.started,
        }
        with contextlib.suppress(SFFAError, OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.trainer.save(self.path, notes)

    @classmethod
    def found(cls, path: Path, config: StaticConfig, environment: dict[str, Any]) -> Unfinished:
        """Read what a run left; raise if it left nothing, or on another machine or version."""
        trainer, notes, _ = Trainer.load_run(path)
        begun = notes["environment"]
        if any(begun.get(name) != environment[name] for name in {*environment} - {"commit"}):
            raise SFFAError(f"{path} was begun elsewhere")
        if begun.get("commit") != environment.get("commit"):
            begun = {**begun, "resumed_at": environment.get("commit")}
        trainer.learner.use_backend(config.backend)
        history = [Epoch(**each) for each in notes["history"]]
        return cls(path, trainer, begun, history, float(notes["seconds"]))


def run_resumable(
    config: StaticConfig, data: Dataset, environment: dict[str, Any], folder: Path
) -> Record:
    """Do a static run that goes on where an earlier call was cut off, to the same bits.

    What was begun by another version of the package, or on another machine, begins anew. Classes
    of the user's are not kept in files, so runs with them do so too.
    """
    if references(config.model_dump(mode="json")):
        return train_static(config, data, environment=environment)[0]
    path = folder / f"{file_name(Run(config))}.safetensors"
    try:
        part = Unfinished.found(path, config, environment)
    except (SFFAError, OSError, KeyError, TypeError, ValueError):
        part = Unfinished(path, make_trainer(config, watched(config, data)[0]), environment)
    record, _ = train_static(
        config,
        data,
        trainer=part.trainer,
        history=[*part.history],
        callbacks=[part],
        environment=part.environment,
    )
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        folder.rmdir()  # if it is empty
    return replace(record, seconds=part.seconds + (record.seconds or 0.0))
