"""Accuracy against the examples seen, within experiences, with loss, time and memory."""

from __future__ import annotations

import time
from typing import Any

import psutil

from sffa.continual.evaluation import evaluate, is_met
from sffa.continual.result import Result
from sffa.core import Callback, Learner, Progress
from sffa.errors import ConfigurationError


class Within(Callback):
    """Tests a stream's learner several times in each epoch, and keeps it in the record.

    A point has the examples trained on so far, each time counted but replayed ones not, the mean
    training loss since the last point, the accuracy on every tested part (``row``, percent) and
    over those begun (``accuracy``), the seconds of the run so far and the memory of the process.
    The points are part of the result and of its checkpoint: a run that is stopped and goes on has
    the same ones. Looking changes no weight and draws from no generator.

    Parameters
    ----------
    points
        Tests in each epoch, evenly spaced, the last one at its end.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, Within, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(hidden=(60, 60), epochs=1, batch_size=100)
    >>> result = run(config, load("digits"), callbacks=[Within(points=2)])
    >>> [point["examples"] for point in result.within][:3]
    [200, 291, 491]
    """

    def __init__(self, points: int = 10) -> None:
        if points < 1:
            raise ConfigurationError(f"points must be positive, got {points}")
        self.points = points
        self.stream: Any = None
        self.result: Any = None

    def on_stream_begin(self, learner: Learner, stream: Any, result: Result) -> None:
        """Take the stream to test on, and the result to write to."""
        self.stream, self.result = stream, result
        self._resumed = time.perf_counter() - _latest(result.within, "seconds")

    def on_batch_end(self, progress: Progress) -> None:
        """Test, if it is time to."""
        result = self.result
        result.pending.append((float(progress.loss), progress.size))
        if not self._due(progress):
            return
        row = evaluate(progress.learner, self.stream).row
        begun = [value for number, value in enumerate(row) if self._begun(progress, number)]
        batches, result.pending = result.pending, []
        trained = sum(size for _, size in batches)
        result.within.append(
            {
                "experience": progress.experience + 1,
                "epoch": progress.epoch + 1,
                "examples": int(_latest(result.within, "examples")) + trained,
                "loss": sum(loss * size for loss, size in batches) / trained,
                "accuracy": sum(begun) / max(len(begun), 1),
                "row": row,
                "seconds": time.perf_counter() - self._resumed,
                "memory_mb": psutil.Process().memory_info().rss / 2**20,
            }
        )

    def _due(self, progress: Progress) -> bool:
        """Whether a multiple of 1/points of the epoch was passed with this batch."""
        done = self.points * progress.batch // progress.batches
        return done > self.points * (progress.batch - 1) // progress.batches

    def _begun(self, progress: Progress, number: int) -> bool:
        """Whether a tested part is learned by the end of this experience."""
        learned = self.stream.learned
        if learned is None:
            return is_met(progress.learner, self.stream.tests[number])
        return bool(learned[number] <= progress.experience + 1)


def _latest(points: list[dict[str, Any]], name: str) -> float:
    return float(points[-1][name]) if points else 0.0
