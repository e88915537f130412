"""The numbers of the paper's tables."""

from __future__ import annotations

import functools
import importlib.resources
import json
import math
from typing import Any, Literal, NamedTuple

# What our metrics are called in the paper's tables of RQ2.
_TABLES = {"acc": "rq2_accuracy", "fgt": "rq2_forgetting", "fwt": "rq2_forward_transfer"}
# How FFA's ± is read: as the standard error that the paper calls it, or as a standard deviation,
# which it most likely is. Read as errors, several imply a spread that accuracies cannot have.
Reading = Literal["sem", "sd"]
SEEDS = 10


class Published(NamedTuple):
    """A number of the paper, with its ± where the paper gives one."""

    mean: float
    sem: float | None


def standard_error(spread: float | None, algorithm: str, reading: Reading) -> float | None:
    """Return the standard error that a ± of the paper stands for under a reading.

    >>> standard_error(3.16, "sffa", "sd"), round(standard_error(3.16, "ffa", "sd"), 2)
    (3.16, 1.0)
    """
    if spread is None or reading == "sem" or algorithm != "ffa":
        return spread
    return spread / math.sqrt(SEEDS)


@functools.cache
def tables() -> dict[str, Any]:
    """Return all tables of the paper as they are kept in the package."""
    text = importlib.resources.files("sffa.study").joinpath("paper_tables.json").read_text("utf-8")
    return dict(json.loads(text))


def published(cell: tuple[str, str, str, str], metric: str) -> Published | None:
    """Return what the paper says about a cell, or None.

    The paper's RQ1 has one number a dataset and algorithm, the best test accuracy over epochs.

    >>> published(("mnist", "static", "uniform", "sffa"), "best")
    Published(mean=97.87, sem=None)
    >>> published(("split-mnist", "class", "replay", "sffa"), "acc")
    Published(mean=90.03, sem=0.24)
    """
    dataset, scenario, method, algorithm = cell
    if scenario != "static":
        dataset = f"split-{dataset.removeprefix('split-')}"
    try:
        if scenario == "static":
            if metric != "best":
                return None
            found = tables()["rq1_accuracy"][algorithm][dataset]
        else:
            found = tables()[_TABLES[metric]][dataset][scenario][method][algorithm]
    except KeyError:
        return None
    if isinstance(found, dict):
        return Published(float(found["mean"]), float(found["sem"]))
    return Published(float(found), None)


def published_hoyer(dataset: str, algorithm: str) -> dict[str, float]:
    """Return the paper's Hoyer scores by sign, none where it has none (appendix C).

    >>> published_hoyer("mnist", "ffa")
    {'positive': 0.855, 'negative': 0.978}
    """
    signs = tables()["hoyer"].get(algorithm, {})
    return {sign: values[dataset] for sign, values in signs.items() if dataset in values}
