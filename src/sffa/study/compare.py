"""Ours beside the paper's, cell by cell: mean, standard error, difference, and whether it fits."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sffa.files import write_text
from sffa.record import Record
from sffa.study.errors import StudyError
from sffa.study.paper import Reading, published, standard_error
from sffa.study.presets import hashes
from sffa.study.statistics import Summary, median_gap, span, summarise
from sffa.vocabulary import ALGORITHMS, DATASETS, LOWER_IS_BETTER, METHODS, SCENARIOS, rank_of

Verdict = Literal["better", "worse", "same", "open", ""]
# Compared with the paper, in this order; RQ1 is counted as the paper counts it.
_METRICS = ("best", "acc", "fgt", "fwt")


@dataclass(frozen=True)
class Comparison:
    """One metric of one cell beside the paper's value, in percent or points.

    ``as_paper`` is whether the configuration is the one of the preset that stands for the paper.
    """

    dataset: str
    scenario: str
    method: str
    algorithm: str
    metric: str
    ours: Summary | None
    paper: float | None
    paper_sem: float | None = None
    as_paper: bool = False
    config_hash: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        if self.ours is None or self.paper is None:
            return None
        return self.ours.mean - self.paper

    def fits(self, reading: Reading = "sem") -> bool | None:
        """Whether the difference lies within two combined standard errors; None if one lacks.

        >>> cell = ("split-mnist", "class", "replay", "ffa", "acc")
        >>> line = Comparison(*cell, Summary(86.0, 0.2, 10), 81.3, 2.7)
        >>> line.fits(), line.fits("sd")
        (True, False)
        """
        gap, theirs = self.difference, standard_error(self.paper_sem, self.algorithm, reading)
        if gap is None or self.ours is None or self.ours.sem is None or theirs is None:
            return None
        return abs(gap) <= 2 * math.hypot(self.ours.sem, theirs)

    @property
    def within(self) -> bool | None:
        """Whether it fits with the paper's ± as printed."""
        return self.fits()

    @property
    def within_sd(self) -> bool | None:
        """Whether it fits with FFA's ± read as standard deviations."""
        return self.fits("sd")

    @property
    def hangs_on_reading(self) -> bool:
        """Whether the answer is another one with FFA's ± read as standard deviations."""
        return self.within != self.within_sd

    @property
    def verdict(self) -> Verdict:
        """Say ``same`` within two combined standard errors, else which way.

        ``open`` is what cannot be judged: one seed, or a number of the paper without an error.
        """
        gap = self.difference
        if gap is None:
            return ""
        if self.within is None:
            return "open"
        if self.within:
            return "same"
        return "better" if (gap > 0) != (self.metric in LOWER_IS_BETTER) else "worse"


def compare(records: Sequence[Record], metric: str) -> Comparison:
    """Put a metric of records that differ in their seed only beside the paper's number.

    >>> from sffa.record import Record
    >>> cell = "split-mnist", "class", "replay", "sffa"
    >>> ours = [Record(*cell, seed, {}, metrics={"acc": 90.0 + seed}) for seed in range(3)]
    >>> line = compare(ours, "acc")
    >>> line.ours.mean, line.paper, line.verdict
    (91.0, 90.03, 'same')
    """
    first = records[0]
    found = published(first.cell, metric)
    mean, sem = (None, None) if found is None else found
    ours = summarise([r.metrics[metric] for r in records if r.done and metric in r.metrics])
    paper = is_of(first, "rq1", "rq2")
    return Comparison(*first.cell, metric, ours, mean, sem, paper, first.config_hash)


def compare_all(records: Iterable[Record]) -> list[Comparison]:
    """Compare every configuration that the paper has a number for; seeds are averaged.

    Two configurations of one cell stay two lines.

    >>> compare_all([])
    []
    """
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        if record.done:
            groups[(*record.cell, record.config_hash)].append(record)
    lines = [compare(members, metric) for members in groups.values() for metric in _METRICS]
    return sorted((line for line in lines if line.difference is not None), key=_place)


def is_of(record: Record, *studies: str) -> bool:
    """Whether a record was run exactly as one of these studies does."""
    return any(record.config_hash in hashes(name) for name in studies)


def _place(line: Comparison) -> tuple[object, ...]:
    return (
        rank_of(DATASETS, line.dataset),
        rank_of(SCENARIOS, line.scenario),
        rank_of(_METRICS, line.metric),
        rank_of(METHODS, line.method),
        rank_of(ALGORITHMS, line.algorithm),
    )


COLUMNS = (
    *("dataset", "scenario", "method", "algorithm", "metric", "seeds", "ours", "ours_sem"),
    *("paper", "paper_sem", "difference", "within", "within_sd", "as_paper", "config_hash"),
)


def as_csv(lines: Iterable[Comparison]) -> str:
    """Return the comparison as CSV; numbers in full."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        ours = line.ours
        known = {} if ours is None else {"seeds": ours.count, "ours_sem": ours.sem}
        known |= {} if ours is None else {"ours": ours.mean}
        values = [known[name] if name in known else getattr(line, name) for name in COLUMNS]
        writer.writerow(["" if value is None else value for value in values])
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
    ours = line.ours
    return [
        *(line.dataset, line.scenario, line.method, line.algorithm + star, line.metric),
        str(ours.count if ours else 0),
        written(ours.mean, ours.sem) if ours else "",
        "" if line.paper is None else written(line.paper, line.paper_sem),
        "" if line.difference is None else f"{line.difference:+.2f}",
        _WORDS[line.within]
        + (f" ({_WORDS[line.within_sd]} if ± is sd)" if line.hangs_on_reading else ""),
    ]


_WORDS = {True: "yes", False: "no", None: "–"}


def near(lines: Iterable[Comparison], points: float = 3.0) -> int:
    """Count what differs from the paper's by no more than some points.

    >>> cell = ("split-mnist", "class", "replay", "ffa", "acc")
    >>> near(Comparison(*cell, Summary(mean, 0.2, 10), 81.3) for mean in (79.0, 84.0, 85.0))
    2
    """
    gaps = [line.difference for line in lines]
    return sum(gap is not None and abs(gap) <= points for gap in gaps)


def coverage(lines: Sequence[Comparison]) -> str:
    """Say how many accuracies of each algorithm are near the paper's, and by how many seeds.

    >>> cell = ("split-mnist", "class", "replay", "sffa", "acc")
    >>> coverage([Comparison(*cell, Summary(90.2, 0.2, 10), 90.0)])
    'accuracy within three points of the paper: sffa 1 of 1; seeds of a cell: 10'
    """
    cells = [line for line in lines if line.metric in ("acc", "best") and line.ours is not None]
    if not cells:
        return ""
    counts = []
    for algorithm in dict.fromkeys(line.algorithm for line in cells):
        own = [line for line in cells if line.algorithm == algorithm]
        counts.append(f"{algorithm} {near(own)} of {len(own)}")
    seeds = span(line.ours.count for line in cells if line.ours is not None)
    told = ", ".join(counts)
    return f"accuracy within three points of the paper: {told}; seeds of a cell: {seeds}"


def tally(lines: Sequence[Comparison]) -> str:
    """Say how many cells fit under both readings of FFA's ±, and by how much cells differ."""
    judged = [line for line in lines if line.within is not None]
    said = f"{sum(bool(line.within) for line in judged)} of {len(judged)} judged cells lie within "
    said += "two combined standard errors"
    if any(line.algorithm == "ffa" for line in judged):
        fitting = sum(bool(line.within_sd) for line in judged)
        said += f" ({fitting} with FFA's ± read as standard deviations)"
    gap = median_gap([line.difference for line in lines])
    return said + ("" if gap is None else f"; median absolute difference {gap:.2f} points")


def written(mean: float, sem: float | None) -> str:
    """Write a mean and its standard error as all tables do.

    >>> written(-16.042, None), written(90.03, 0.24)
    ('-16.04', '90.03 ± 0.24')
    """
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
