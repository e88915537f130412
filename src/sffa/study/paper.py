"""The numbers of the paper's tables."""

from __future__ import annotations

import functools
import importlib.resources
import json
from typing import Any, NamedTuple

# What our metrics are called in the paper's tables of RQ2.
_TABLES = {"acc": "rq2_accuracy", "fgt": "rq2_forgetting", "fwt": "rq2_forward_transfer"}


class Published(NamedTuple):
    """A number of the paper, with its standard error where the paper gives one."""

    mean: float
    sem: float | None


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
