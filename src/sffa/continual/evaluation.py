"""Accuracy on every tested part, learned or not; the learner and its training stay as they are."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch

from sffa.continual.stream import AnyStream, Experience
from sffa.continual.views import View
from sffa.core import Learner

_BLOCK = 1024


class Evaluation(NamedTuple):
    """Accuracies in percent: on each tested part, on held-out examples of each, on each class."""

    row: list[float]
    held: list[float]
    per_class: dict[int, float]


def evaluate(learner: Learner, stream: AnyStream) -> Evaluation:
    """Return the accuracy on the test examples of each tested part and of each class.

    In Class IL an example of a class not met is never right. In Task and Domain IL the question
    makes sense before the experience is met, so a copy of the learner meets the labels first.
    """
    knowing = learner
    if stream.scenario != "class" and not all(is_met(learner, part) for part in stream.tests):
        knowing = copy.deepcopy(learner)
        for part in stream.tests:
            knowing.add_classes(part.labels, part.task)
    row, held = [], []
    found: dict[int, list[torch.Tensor]] = {}
    for part in stream.tests:
        right = _right(knowing, part, part.test)
        row.append(_percent(right))
        if part.held is not None:
            held.append(_percent(_right(knowing, part, part.held)))
        classes = part.test.original
        for label in part.classes:
            found.setdefault(label, []).append(right[classes == label])
    by_class = {label: _percent(torch.cat(parts)) for label, parts in found.items()}
    return Evaluation(row, held, by_class)


def is_met(learner: Learner, part: Experience) -> bool:
    """Whether a learner knows every label of a part, and its task."""
    if part.task is not None and part.task not in learner.tasks:
        return False
    return set(part.labels) <= set(learner.classes)


@torch.no_grad()
def _right(learner: Learner, part: Experience, view: View) -> torch.Tensor:
    """Return which examples are named rightly; none of a class that is not met."""
    if not set(part.labels) & set(learner.classes):
        return torch.zeros(len(view), dtype=torch.bool)
    found = [
        (learner.predict(batch.x, batch.task).cpu() == batch.y) for batch in view.batches(_BLOCK)
    ]
    return torch.cat(found) if found else torch.zeros(0, dtype=torch.bool)


def _percent(right: torch.Tensor) -> float:
    return 100.0 * float(right.float().mean()) if len(right) else 0.0
