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

    ``rows`` are the accuracies (percent) on every tested part, the first before training, and
    ``held`` those on its held-out examples; ``seen`` are the experiences done at each row (one
    more each time unless given), ``learned`` those after which each part counts as learned (its
    own number unless given). ``experiences`` tells of those between two rows: classes, seconds of
    training, memory of the process and of the strategy in MB, multiply-adds of an example;
    ``within`` is what `Within` has seen between them, ``pending`` the batches since its last point.
    ``total`` is how many there will be, None if nobody knows. ``learner`` is what was trained, once
    the run is complete.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> result = run(config, load("digits"))
    >>> result.matrix.shape, sorted(result.metrics)  # a row before training, and after each
    ((6, 5), ['acc', 'bwt', 'fgt', 'fwt'])
    """

    config: ContinualConfig
    chances: list[float]
    rows: list[list[float]] = field(default_factory=list)
    per_class: dict[int, float] = field(default_factory=dict)
    experiences: list[dict[str, Any]] = field(default_factory=list)
    within: list[dict[str, Any]] = field(default_factory=list)
    pending: list[tuple[float, int]] = field(default_factory=list)
    seconds: float = 0.0
    peak_memory_mb: float = 0.0
    learner: Learner | None = field(default=None, repr=False, compare=False)
    held: list[list[float]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    learned: list[int | None] | None = None
    tests: list[list[int]] = field(default_factory=list)
    total: int | None = None

    @property
    def matrix(self) -> Matrix:
        """Accuracies (T+1, T) in percent; while the run is under way, only the rows so far.

        A row for each evaluation and a column for each tested part; of T experiences that are
        tested one by one, these are T + 1 and T.
        """
        return np.array(self.rows, dtype=np.float64)

    @property
    def done(self) -> int:
        """Experiences learned."""
        return self.seen[-1] if self.seen else len(self.experiences)

    @property
    def metrics(self) -> dict[str, float]:
        """Acc, Fgt, FwT and BWT in percent, over what is learned so far.

        ``val_acc`` is the same as Acc on held-out examples, where there are some.
        """
        if not self.done:
            return {"acc": 0.0, "fgt": 0.0, "fwt": 0.0, "bwt": 0.0}
        about = self.chances, self.learned, self.seen or None
        found = metrics.summary(self.matrix, *about)
        if self.held:
            held = metrics.summary(np.array(self.held, dtype=np.float64), *about)
            found["val_acc"] = held["acc"]
        return found

    @property
    def curve(self) -> list[float]:
        """Mean accuracy over the parts learned, after each evaluation."""
        return metrics.curve(self.matrix, self.learned, self.seen or None) if self.done else []

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
                **self._unusual(),
                **({"within": self.within} if self.within else {}),
            },
            environment=environment,
            seconds=self.seconds,
            peak_memory_mb=self.peak_memory_mb,
            version=str(environment.get("version", "")),
        )

    def _unusual(self) -> dict[str, Any]:
        """Return the details of a stream whose rows or tested parts are not its experiences."""
        found: dict[str, Any] = {"held_matrix": self.held} if self.held else {}
        count = len(self.chances)
        if self.tests and self.tests != [part["classes"] for part in self.experiences]:
            found["tests"] = [{"classes": classes} for classes in self.tests]
        if self.seen and self.seen != list(range(len(self.rows))):
            found["seen"] = self.seen
        if self.learned is not None and self.learned != list(range(1, count + 1)):
            found["learned"] = self.learned
        return found
