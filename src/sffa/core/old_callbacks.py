"""The callbacks of `Trainer.fit` as earlier versions had them: functions, for one release."""

from __future__ import annotations

from typing import Any

from sffa.core.callbacks import Callback, Epoch, Progress
from sffa.errors import warn_renamed


class _Functions(Callback):
    """The callbacks ``on_epoch(epoch)`` and ``on_batch(done, total)`` of earlier versions."""

    def __init__(self, on_epoch: Any, on_batch: Any) -> None:
        self._epoch, self._batch = on_epoch, on_batch

    def on_batch_end(self, progress: Progress) -> None:
        if self._batch is not None:
            self._batch(progress.batch, progress.batches)

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        if self._epoch is not None:
            self._epoch(epoch)


def old_callbacks(on_epoch: Any, on_batch: Any) -> list[Callback]:
    """Return old forms of ``callbacks`` as such, with a warning."""
    if on_epoch is None and on_batch is None:
        return []
    warn_renamed("on_epoch and on_batch of Trainer.fit", "callbacks=[Callback]")
    return [_Functions(on_epoch, on_batch)]
