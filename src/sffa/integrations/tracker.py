"""The one interface of trackers: what happens in a run, as numbers by name and step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from sffa.continual.result import Result
from sffa.core import Callback, Epoch, Learner, Progress


class Tracker(Callback):
    """Turns epochs and experiences into numbers; a subclass keeps them.

    The step of a number is the epoch of a static run, and the experience of a stream. The names
    are the same with every tracker: ``loss``, ``accuracy/test``, ``accuracy/experience 1``,
    ``stream/acc`` and so on.

    >>> import torch, sffa
    >>> class Printed(Tracker):
    ...     def scalars(self, values, step):
    ...         print(step, sorted(values))
    >>> x, y = torch.eye(4), torch.tensor([0, 0, 1, 1])
    >>> trainer = sffa.Trainer(sffa.Backprop(4, hidden=(8,)))
    >>> epochs = trainer.fit(x, y, watch={"test": (x, y)}, callbacks=[Printed()])
    1 ['accuracy/test', 'loss', 'seconds']
    """

    @abstractmethod
    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Keep numbers by name."""

    def parameters(self, values: Mapping[str, Any]) -> None:
        """Keep the settings of the run, if the tracker has a place for them."""

    def look(self, learner: Learner, step: int) -> None:
        """Look into the learner, if the tracker can show what is there."""

    def close(self) -> None:
        """Write what is left."""

    def on_stream_begin(self, learner: Learner, stream: Any, result: Result) -> None:
        """Keep the settings of a stream."""
        self.parameters(result.config.model_dump(mode="json"))

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        """Keep an epoch; of streams none, as their experiences are kept."""
        if progress.experience or not epoch.accuracy:
            return
        values: dict[str, float] = {"loss": epoch.loss, "seconds": epoch.seconds}
        for name, value in epoch.accuracy.items():
            values[f"accuracy/{name}"] = value
        for name, layers in epoch.layer_accuracy.items():
            for number, value in enumerate(layers, start=1):
                values[f"accuracy/{name}/layer {number}"] = value
        self.scalars(values, epoch.number)
        self.look(progress.learner, epoch.number)

    def on_experience_end(self, learner: Learner, result: Result) -> None:
        """Keep the result of a stream so far."""
        number = result.done
        row = result.rows[-1] if result.rows else []
        values = {f"accuracy/experience {i}": value for i, value in enumerate(row, start=1)}
        if number:
            values["accuracy/seen"] = result.curve[-1]
            values |= {f"stream/{name}": value for name, value in result.metrics.items()}
        self.scalars(values, number)
        self.look(learner, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None
    ) -> None:
        self.close()
