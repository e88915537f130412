"""Multiply-adds of one example: what a prediction and a training step cost, whatever the machine.

Counted are products of an example with weights. What a batch does once (label codes times their
weights), choosing winners, and the optimiser are not.
"""

from __future__ import annotations

from functools import singledispatch
from itertools import pairwise
from typing import NamedTuple

from sffa.core.backprop import Backprop
from sffa.core.closed_form import SLDA, Ridge
from sffa.core.learner import Learner
from sffa.core.network import Network


class Cost(NamedTuple):
    """Multiply-adds of scoring one example against all classes met, and of learning from it.

    >>> import sffa
    >>> from sffa.core import multiply_adds
    >>> cost = multiply_adds(sffa.Backprop(64, hidden=(20,), classes=range(10)))
    >>> cost.predict
    1480
    """

    predict: int
    train: int


@singledispatch
def multiply_adds(learner: Learner) -> Cost | None:
    """Return the cost of a learner; None of one that nobody has counted.

    >>> multiply_adds(Backprop(4, hidden=(10,), classes=range(3)))
    Cost(predict=70, train=170)
    """
    return None


@multiply_adds.register
def _(learner: Backprop) -> Cost:
    """Count forward, the gradient of every weight, and of every input but the examples."""
    widths = [learner.inputs, *learner.config.hidden]
    predict = sum(a * b for a, b in pairwise(widths)) + widths[-1] * len(learner.classes)
    return Cost(predict, 3 * predict - widths[0] * widths[1])


@multiply_adds.register
def _(learner: Network) -> Cost:
    """Count the image's part once, the latent's for each label; inputs need no gradient.

    A latent of SFFA has 2k values that are not zero, and as many neurons of the layer above learn
    from it; with a gate, only a label's own neurons are looked at.
    """
    config, labels = learner.config, len(learner.classes)
    images = sum(learner.inputs * layer.width for layer in learner.stack)
    sparse = config.algorithm == "sffa"
    looked_at = [layer.width for layer in learner.stack]
    if sparse and config.gate is not None:
        looked_at = [share * config.polarities for share in learner.shares(config)]
    active = [2 * config.k if sparse else width for width in looked_at]
    forward = sum(a * width for a, width in zip(active, looked_at[1:], strict=False))
    backward = sum(a * b for a, b in pairwise(active))
    return Cost(images + labels * forward, 2 * images + labels * (forward + backward))


@multiply_adds.register
def _(learner: Ridge) -> Cost:
    """Count random features and scores, or sums; not solving, which is once a stream."""
    size = len(learner.gram)
    features = learner.inputs * (size - 1)
    return Cost(features + size * len(learner.classes), features + size * size)


@multiply_adds.register
def _(learner: SLDA) -> Cost:
    """Count scores, or sums; not solving, which is once a stream."""
    size = len(learner.gram)
    return Cost(size * len(learner.classes), size * size)
