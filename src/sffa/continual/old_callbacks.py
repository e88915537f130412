"""The callbacks of `continual.run` as earlier versions had them: functions, for one release."""

from __future__ import annotations

from typing import Any

from sffa.continual.result import Result
from sffa.core import Callback, Learner, Progress
from sffa.errors import warn_renamed


class _Functions(Callback):
    """The callbacks ``on_experience`` and ``on_batch`` of earlier versions."""

    def __init__(self, on_experience: Any, on_batch: Any) -> None:
        self._experience, self._batch = on_experience, on_batch

    def on_batch_end(self, progress: Progress) -> Any:
        return self._batch and self._batch(progress.step, progress.steps)

    def on_experience_end(self, learner: Learner, result: Result) -> None:
        if self._experience is not None:
            self._experience(result.done, result, learner)


def old_callbacks(on_experience: Any, on_batch: Any) -> list[Callback]:
    """Return old forms of ``callbacks`` as such, with a warning."""
    if on_experience is None and on_batch is None:
        return []
    warn_renamed("on_experience and on_batch of continual.run", "callbacks=[Callback]")
    return [_Functions(on_experience, on_batch)]
