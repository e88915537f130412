"""The one table of what runs are named by: names, order, colours and marks.

Colours are those of Okabe and Ito, and never the only sign: lines differ in mark and dash too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

INK = "#1b1f24"
BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, GREY = "#56b4e9", "#cc79a7", "#7f868f"


class Term(NamedTuple):
    """What a key is called, and how it is drawn; marks and dashes as matplotlib has them."""

    name: str
    colour: str = GREY
    mark: str = ""
    dash: Any = "-"
    hatch: str | None = None


# The order of each is that of tables and figures.
_DATASETS = {
    "mnist": Term("MNIST"),
    "fmnist": Term("Fashion-MNIST"),
    "kmnist": Term("KMNIST"),
    "kmnist-reduced": Term("KMNIST (reduced)"),
    "emnist-letters": Term("EMNIST Letters"),
    "cifar10": Term("CIFAR-10"),
    "digits": Term("Digits (8×8)"),
    "split-mnist": Term("Split-MNIST"),
    "split-fmnist": Term("Split-FMNIST"),
    "split-kmnist": Term("Split-KMNIST"),
    "split-digits": Term("Split-Digits"),
}
_SCENARIOS = {
    "static": Term("Static"),
    "class": Term("Class IL"),
    "domain": Term("Domain IL"),
    "task": Term("Task IL"),
}
# Of a static run the method is the kind of its negatives.
_NEGATIVES = {name: Term(name, mark="P", dash="--") for name in ("none", "uniform", "hard", "all")}
_METHODS = {
    **_NEGATIVES,
    "naive": Term("Naive", INK, "x", (0, (1, 1.5))),
    "ewc": Term("EWC", ORANGE, "s", (0, (5, 1.5))),
    "si": Term("SI", SKY, "^", (0, (4, 1.5, 1, 1.5))),
    "mas": Term("MAS", GREEN, "v", (0, (2.5, 1.2))),
    "replay": Term("Replay", BLUE, "o"),
    "gem": Term("GEM", PURPLE, "D"),
    "gaussian": Term("Gaussian", VERMILION, "P"),
    "ewc-online": Term("EWC, online", ORANGE, "p", "-."),
    "replay-reservoir": Term("Replay, reservoir", BLUE, "<", "-."),
    "replay-balanced": Term("Replay, balanced", BLUE, ">", "--"),
    "a-gem": Term("A-GEM", PURPLE, "d", "--"),
    "lwf": Term("LwF", GREEN, "h", ":"),
    "derpp": Term("DER++", SKY, "X", "--"),
    "er-ace": Term("ER-ACE", SKY, "s", "-."),
    "masking": Term("Masking", ORANGE, "H", ":"),
    "projection": Term("Projection", PURPLE, "8", ":"),
    "joint": Term("Joint", GREY, "*", ":"),
}
_ALGORITHMS = {
    "bp": Term("Back-propagation", GREEN, "s", "--", "..."),
    "ffa": Term("FFA", VERMILION, "^", "-.", "///"),
    "sffa": Term("SFFA", BLUE, "o"),
    "sffa-gated": Term("SFFA, gated", SKY, "D", ":", "xx"),
    "sffa-contrast": Term("SFFA, contrast", PURPLE, "P", "-", "\\\\"),
    "ridge": Term("Ridge", INK, "<", ":", "oo"),
    "slda": Term("SLDA", GREY, ">", ":", "--"),
    "sffa-classifier": Term("SFFA, classifier", ORANGE, "v", "-.", "++"),
}
_METRICS = {
    "best": Term("Best epoch"),
    "last": Term("Last epoch"),
    "val_selected": Term("Selected epoch"),
    "acc": Term("Accuracy"),
    "fgt": Term("Forgetting"),
    "fwt": Term("Forward transfer"),
    "bwt": Term("Backward transfer"),
}
_HELD = {"val_acc": Term("Held-out accuracy")}

DATASETS, SCENARIOS, METHODS = tuple(_DATASETS), tuple(_SCENARIOS), tuple(_METHODS)
ALGORITHMS, METRICS = tuple(_ALGORITHMS), tuple(_METRICS)
CONTINUAL = SCENARIOS[1:]
PAPER_ALGORITHMS = ("bp", "ffa", "sffa")
STATIC_METRICS, CONTINUAL_METRICS = METRICS[:3], METRICS[3:]
LOWER_IS_BETTER = frozenset({"fgt"})
NAMES = {
    key: term.name
    for terms in (_DATASETS, _SCENARIOS, _METHODS, _ALGORITHMS, _METRICS, _HELD)
    for key, term in terms.items()
}


def name_of(key: str) -> str:
    """Return the name a reader knows a thing by.

    >>> name_of("ffa"), name_of("my-strategy")
    ('FFA', 'my-strategy')
    """
    return NAMES.get(key, key)


def algorithm_term(algorithm: str) -> Term:
    """Return how an algorithm is drawn; unknown ones get a colour by their name."""
    spare = (PURPLE, ORANGE, GREY)
    colour = spare[sum(algorithm.encode()) % len(spare)]
    return _ALGORITHMS.get(algorithm, Term(algorithm, colour, "D"))


def method_term(method: str) -> Term:
    """Return how a method is drawn."""
    return _METHODS.get(method, Term(method, GREY, "P", "--"))


def main_metric(scenario: str) -> str:
    """Return the metric that the paper's tables show: of static runs, the best epoch."""
    return "best" if scenario == "static" else "acc"


def rank_of(known: Sequence[str], value: str) -> tuple[int, str]:
    """Return what a value is sorted by: the known ones first, in their order."""
    return (known.index(value), "") if value in known else (len(known), value)


def sort_keys(values: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the distinct values, the known ones in their order first.

    >>> sort_keys(["zeta", "ffa", "bp"], ALGORITHMS)
    ['bp', 'ffa', 'zeta']
    """
    return sorted(set(values), key=lambda value: rank_of(known, value))


def cell_rank(cell: tuple[str, str, str, str]) -> tuple[tuple[int, str], ...]:
    """Return what a cell is sorted by, as the paper's tables are."""
    known = (DATASETS, SCENARIOS, METHODS, ALGORITHMS)
    return tuple(rank_of(names, part) for names, part in zip(known, cell, strict=True))
