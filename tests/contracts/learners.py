"""Every way to learn that the contracts are held to, small enough to be quick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sffa import Backprop, Network, Trainer
from sffa.core import Learner, make
from sffa.core.negatives import KINDS
from sffa.core.trainer import SCHEDULES

Digits = tuple[Tensor, Tensor]

FORWARD = ("sffa", "ffa", "sffa-gated", "disjoint", "sffa-contrast")
ALGORITHMS = (*FORWARD, "bp")
WAYS = [(a, n, s) for a in FORWARD for n in KINDS for s in SCHEDULES] + [("bp", "all", "online")]
GROWING = ("symba", "onehot", "sffa-gated", "disjoint", "ffa", "bp")


def learner(algorithm: str, classes: Iterable[int] = range(10), **options: Any) -> Learner:
    """Make a small learner for 8×8 digits."""
    if algorithm == "bp":
        return Backprop(64, (60, 60), classes, **options)
    options = {"k": 5, "hidden": (100, 100), **options}
    if algorithm == "disjoint":
        return Network(64, gate="disjoint", planned_classes=10, classes=classes, **options)
    if algorithm in ("symba", "onehot"):
        return Network(64, codes=algorithm, classes=classes, **options)
    return make(algorithm, 64, classes=classes, **options)


def trainer(
    algorithm: str, negatives: str, schedule: str, seed: int = 0, **options: Any
) -> Trainer:
    """Make a trainer with its learner, both of the same seed."""
    net = learner(algorithm, seed=seed, **options)
    return Trainer(net, lr=1e-2, negatives=negatives, schedule=schedule, seed=seed)  # type: ignore[arg-type]


def snapshot(net: torch.nn.Module) -> dict[str, Tensor]:
    """Copy everything a learner knows."""
    return {name: value.clone() for name, value in net.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Whether two states hold the same bits under the same names."""
    return one.keys() == other.keys() and all(torch.equal(one[n], other[n]) for n in one)
