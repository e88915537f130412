"""Two classes at a time, with three methods side by side: which of them are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sffa.continual import ContinualConfig, ContinualRun, Stream
from sffa.core import Callback
from sffa.data import Dataset
from sffa.playground.networks import HIDDEN, LR
from sffa.vocabulary import name_of

METHODS = {
    "naive": "Learns only what is new.",
    "replay": "Rehearses 100 kept examples.",
    "gaussian": "Rehearses what it dreams.",
}
OPTIONS = {"replay": {"replay.capacity": 100}}
PER_CLASS = 200  # training examples


def learn_in_parts(
    data: Dataset,
    algorithm: str,
    *,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    tell: Callable[[dict[str, Any]], object] = lambda _: None,
) -> dict[str, Any]:
    """Learn the classes in pairs with every method, and return the accuracy on each class.

    ``tell`` sees the result so far after each part: ``parts``, the classes of each, and of every
    method a row for each part learned, the accuracy in percent on all classes.
    """
    data = _first_of_each(data)
    stream = Stream(data, "class", seed, class_order=_pairs(data.classes))
    runs = {method: _run(method, algorithm, data, stream, seed) for method in METHODS}
    rows: dict[str, list[list[float]]] = {method: [] for method in METHODS}
    result: dict[str, Any] = {"parts": [list(part.classes) for part in stream]}
    for part in stream:
        for method, run in runs.items():
            run.learn(part, callbacks)
            found = run.result.per_class
            rows[method].append([round(found[label], 1) for label in range(data.classes)])
            result["methods"] = [
                {
                    "method": name,
                    "name": name_of(name),
                    "about": METHODS[name],
                    "rows": list(rows[name]),
                    "kilobytes": round(1024 * other.strategy.megabytes),
                }
                for name, other in runs.items()
            ]
            tell(dict(result))
    return result


def _first_of_each(data: Dataset) -> Dataset:
    """Return the dataset with `PER_CLASS` training examples of each class."""
    places = [np.flatnonzero(data.train.y == label)[:PER_CLASS] for label in range(data.classes)]
    return replace(data, train=data.train.subset(np.concatenate(places)))


def _pairs(classes: int) -> list[list[int]]:
    """Return the classes two by two; an odd one joins the last pair.

    >>> _pairs(5)
    [[0, 1], [2, 3, 4]]
    """
    pairs = [[label, label + 1] for label in range(0, classes - 1, 2)]
    if classes % 2:
        pairs[-1].append(classes - 1)
    return pairs


def _run(method: str, algorithm: str, data: Dataset, stream: Stream, seed: int) -> ContinualRun:
    config = ContinualConfig(
        dataset=data.name,
        method=method,
        algorithm=algorithm,
        seed=seed,
        epochs=4,
        batch_size=32,
        lr=LR,
        hidden=HIDDEN,
        options=OPTIONS.get(method, {}),
    )
    return ContinualRun(config, stream=stream)
