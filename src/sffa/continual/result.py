"""The outcome of a continual run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sffa.continual import metrics
from sffa.continual.config import ContinualConfig
from sffa.continual.metrics import Matrix
from sffa.core import Learner
from sffa.environment import describe
from sffa.extension import code_of
from sffa.record import Record


@dataclass
class Result:
    """Accuracies, times and memory of a run, complete or under way.

    ``rows`` are the accuracies (percent) on every experience, the first before training;
    ``experiences`` tells of each one done: classes, seconds of training, memory of the process and
    of the strategy in MB. ``learner`` is what was trained, once the run is complete.
    """

    config: ContinualConfig
    chances: list[float]
    rows: list[list[float]] = field(default_factory=list)
    per_class: dict[int, float] = field(default_factory=dict)
    experiences: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    learner: Learner | None = field(default=None, repr=False, compare=False)

    @property
    def matrix(self) -> Matrix:
        """Accuracies (T+1, T) in percent; while the run is under way, only the rows so far."""
        return np.array(self.rows, dtype=np.float64)

    @property
    def done(self) -> int:
        """Experiences learned."""
        return len(self.experiences)

    @property
    def metrics(self) -> dict[str, float]:
        """Acc, Fgt, FwT and BWT in percent, over the experiences learned so far."""
        if not self.done:
            return {"acc": 0.0, "fgt": 0.0, "fwt": 0.0, "bwt": 0.0}
        return metrics.summary(self.matrix[:, : self.done], self.chances[: self.done])

    @property
    def curve(self) -> list[float]:
        """Mean accuracy over the experiences seen, after each."""
        return metrics.curve(self.matrix) if self.done else []

    def record(self, environment: dict[str, Any] | None = None) -> Record:
        """Return the record; ``environment`` is best described before a run that takes long."""
        config = self.config
        environment = environment or describe()
        values = config.model_dump(mode="json")
        if code := code_of(values):
            environment = {**environment, "code": code}
        return Record(
            dataset=config.dataset,
            scenario=config.scenario,
            method=config.method,
            algorithm=config.algorithm,
            seed=config.seed,
            config=values,
            metrics=self.metrics,
            details={
                "matrix": self.rows,
                "curve": self.curve,
                "per_class": {str(label): acc for label, acc in sorted(self.per_class.items())},
                "experiences": self.experiences,
            },
            environment=environment,
            seconds=self.seconds,
            peak_memory_mb=self.peak_memory_mb,
            version=str(environment.get("version", "")),
        )
