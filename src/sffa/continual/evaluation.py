"""Accuracy on every experience, seen or not; the learner and its training stay as they are."""

from __future__ import annotations

import copy

import torch

from sffa.continual.stream import Experience, Stream
from sffa.core import Learner

_BLOCK = 1024


def evaluate(learner: Learner, stream: Stream) -> tuple[list[float], dict[int, float]]:
    """Return the accuracy on each experience's test split and on each class, in percent.

    In Class IL an example of a class not met is never right. In Task and Domain IL the question
    makes sense before the experience is met, so a copy of the learner meets the labels first.
    """
    knowing = learner
    if stream.scenario != "class" and not all(_met(learner, part) for part in stream):
        knowing = copy.deepcopy(learner)
        for part in stream:
            knowing.add_classes(part.labels, part.task)
    row, by_class = [], {}
    for part in stream:
        right = _right(knowing, part) if _met(knowing, part) else torch.zeros(len(part.test))
        row.append(100.0 * float(right.float().mean()))
        classes = part.test.original
        for label in part.classes:
            chosen = right[classes == label]
            by_class[label] = 100.0 * float(chosen.float().mean()) if len(chosen) else 0.0
    return row, by_class


def _met(learner: Learner, experience: Experience) -> bool:
    if experience.task is not None and experience.task not in learner.tasks:
        return False
    return set(experience.labels) <= set(learner.classes)


@torch.no_grad()
def _right(learner: Learner, experience: Experience) -> torch.Tensor:
    found = [
        (learner.predict(batch.x, batch.task).cpu() == batch.y)
        for batch in experience.test.batches(_BLOCK)
    ]
    return torch.cat(found)
