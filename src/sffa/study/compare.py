"""Ours beside the paper's, cell by cell: mean, standard error, difference, and whether it fits."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from sffa.files import write_text
from sffa.study.errors import StudyError
from sffa.study.paper import published
from sffa.study.presets import hashes
from sffa.study.record import Record

# Compared with the paper, in this order; RQ1 is counted as the paper counts it.
_METRICS = ("best", "acc", "fgt", "fwt")
_ORDER = {
    name: place
    for place, name in enumerate(
        (
            *("mnist", "fmnist", "kmnist", "emnist-letters", "split-mnist", "split-fmnist"),
            *("static", "class", "domain", "task"),
            *("naive", "ewc", "si", "mas", "replay", "gem"),
            *("bp", "ffa", "sffa"),
            *_METRICS,
        )
    )
}


@dataclass(frozen=True)
class Comparison:
    """One metric of one cell, in percent; ``within`` is None where it cannot be judged.

    ``as_paper`` tells whether the configuration is the one of the preset that stands for the paper.
    """

    dataset: str
    scenario: str
    method: str
    algorithm: str
    metric: str
    seeds: int
    ours: float
    ours_sem: float | None
    paper: float
    paper_sem: float | None
    difference: float
    within: bool | None
    as_paper: bool
    config_hash: str


COLUMNS = tuple(field.name for field in fields(Comparison))


def compare(records: Iterable[Record]) -> list[Comparison]:
    """Compare every configuration that the paper has a number for; seeds are averaged.

    Two configurations of one cell stay two lines.
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        if record.status == "done":
            groups[(*record.cell, record.key.config_hash)].append(record)
    from_paper = hashes("rq1") | hashes("rq2")
    lines = []
    for members in groups.values():
        for metric in _METRICS:
            line = _line(members, metric, from_paper)
            if line is not None:
                lines.append(line)
    return sorted(lines, key=_place)


def _line(members: Sequence[Record], metric: str, from_paper: frozenset[str]) -> Comparison | None:
    theirs = published(members[0].cell, metric)
    values = [v for record in members if (v := record.metrics.get(metric)) is not None]
    if theirs is None or not values:
        return None
    ours, sem = mean_and_sem(values)
    difference = ours - theirs.mean
    digest = members[0].key.config_hash
    return Comparison(
        *members[0].cell,
        metric=metric,
        seeds=len(values),
        ours=ours,
        ours_sem=sem,
        paper=theirs.mean,
        paper_sem=theirs.sem,
        difference=difference,
        within=within(difference, sem, theirs.sem),
        as_paper=digest in from_paper,
        config_hash=digest,
    )


def mean_and_sem(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and its standard error, which needs two values.

    >>> mean_and_sem([1.0, 3.0])
    (2.0, 1.0)
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, None
    return mean, statistics.stdev(values) / math.sqrt(len(values))


def within(difference: float, ours: float | None, theirs: float | None) -> bool | None:
    """Whether a difference lies within two combined standard errors; None if one lacks.

    >>> within(0.5, 0.2, 0.24), within(0.5, 0.2, None)
    (True, None)
    """
    if ours is None or theirs is None:
        return None
    return abs(difference) <= 2 * math.hypot(ours, theirs)


def _place(line: Comparison) -> tuple[object, ...]:
    names = (line.dataset, line.scenario, line.metric, line.method, line.algorithm)
    return tuple((_ORDER.get(name, len(_ORDER)), name) for name in names)


def as_csv(lines: Iterable[Comparison]) -> str:
    """Return the comparison as CSV; numbers in full."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow(["" if v is None else v for v in astuple(line)])
    return text.getvalue()


def as_markdown(lines: Iterable[Comparison]) -> str:
    """Return the comparison as a Markdown table; numbers as the paper prints them."""
    titles = list(CELLS)
    rows = [titles, ["---"] * len(titles), *(shown(line) for line in lines)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


CELLS = (
    *("dataset", "scenario", "method", "algorithm", "metric", "seeds"),
    *("ours", "paper", "difference", "within 2 sem"),
)


def shown(line: Comparison) -> list[str]:
    """Return the cells that people read, one for each of ``CELLS``."""
    star = "" if line.as_paper else "*"
    return [
        *(line.dataset, line.scenario, line.method, line.algorithm + star, line.metric),
        str(line.seeds),
        _number(line.ours, line.ours_sem),
        _number(line.paper, line.paper_sem),
        f"{line.difference:+.2f}",
        {True: "yes", False: "no", None: "–"}[line.within],
    ]


def _number(mean: float, sem: float | None) -> str:
    return f"{mean:.2f}" if sem is None else f"{mean:.2f} ± {sem:.2f}"


def write_comparison(path: str | Path, lines: Sequence[Comparison]) -> None:
    """Write a comparison as its file's ending says: ``.csv`` or ``.md``."""
    forms = {".csv": as_csv, ".md": as_markdown}
    ending = Path(path).suffix
    if ending not in forms:
        raise StudyError(f"cannot write a comparison to {path}: end its name in .csv or .md")
    try:
        write_text(path, forms[ending](lines))
    except OSError as error:
        raise StudyError(f"cannot write {path}: {error.strerror or error}") from error
