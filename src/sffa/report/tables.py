"""The tables of the page as plain data: columns, and rows of what is shown and sorted by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sffa.report.cells import Cell
from sffa.report.claims import effect
from sffa.study.compare import Comparison
from sffa.study.compare import written as plain
from sffa.study.statistics import Summary, holm
from sffa.vocabulary import CONTINUAL_METRICS, STATIC_METRICS, main_metric, name_of

NONE = "–"
_LIMIT = 0.05


@dataclass(frozen=True)
class Field:
    """One cell of a table: what is shown, what it sorts by, and a mark for its looks."""

    text: str
    sort: float | str | None = None
    mark: str = ""
    note: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its title, and whether it holds numbers or makes a filter."""

    title: str
    numeric: bool = False
    choice: bool = False
    alone: str = ""

    @property
    def label(self) -> str:
        """The title where the neighbours cannot be seen."""
        return self.alone or self.title


@dataclass(frozen=True)
class Table:
    """What a table shows. ``foot`` explains signs that its rows use."""

    name: str
    title: str
    columns: list[Column]
    rows: list[list[Field]]
    foot: str = ""


def static_table(cells: Sequence[Cell]) -> Table | None:
    """Return the accuracies of static runs beside the paper's."""
    kept = [cell for cell in cells if cell.static]
    keys = [_dataset, _algorithm, _negatives]
    titles = ["Dataset", "Algorithm", "Negatives"]
    return _table("static", "Static datasets", kept, titles, keys, STATIC_METRICS)


def continual_table(cells: Sequence[Cell]) -> Table | None:
    """Return the metrics of continual runs beside the paper's."""
    kept = [cell for cell in cells if not cell.static]
    keys = [_dataset, _scenario, _method, _algorithm]
    titles = ["Dataset", "Scenario", "Method", "Algorithm"]
    return _table("continual", "Continual learning", kept, titles, keys, CONTINUAL_METRICS)


def _table(
    name: str,
    title: str,
    cells: Sequence[Cell],
    titles: list[str],
    keys: Sequence[Callable[[Cell], Field]],
    metrics: tuple[str, ...],
) -> Table | None:
    if not cells:
        return None
    columns = [Column(text, choice=True) for text in titles]
    columns.append(Column("Seeds", numeric=True))
    found = {metric: [cell.compare(metric) for cell in cells] for metric in metrics}
    shown = [m for m in metrics if m == metrics[0] or any(c.ours for c in found[m])]
    known = {metric: any(c.paper is not None for c in found[metric]) for metric in shown}
    for metric in shown:
        columns.append(Column(f"{name_of(metric)}, %", numeric=True))
        if known[metric]:
            word = name_of(metric).lower()
            columns.append(Column("Paper", numeric=True, alone=f"Paper's {word}"))
            columns.append(Column("Difference", numeric=True, alone=f"Difference in {word}"))
    rows = []
    for number, cell in enumerate(cells):
        row = [key(cell) for key in keys] + [_seeds(cell)]
        for metric in shown:
            comparison = found[metric][number]
            row += _compared(comparison) if known[metric] else [_summary(comparison.ours)]
        rows.append(row)
    return Table(name, title, columns, rows, _foot(cells, any(known.values())))


def _foot(cells: Sequence[Cell], compared: bool) -> str:
    parts = ["Mean ± standard error over seeds."]
    if compared:
        parts.append(
            "Differences are ours minus the paper's: = within two combined standard errors, "
            "▲ better, ▼ worse, ? not to be judged: one seed, or no error in the paper."
        )
        if any(cell.compare(main_metric(cell.scenario)).hangs_on_reading for cell in cells):
            parts.append(
                "† beyond two errors if FFA's ± in the paper are standard deviations, as they most "
                "likely are."
            )
        if not all(cell.is_of("rq1", "rq2") for cell in cells):
            parts.append("* not run with the configuration that stands for the paper.")
    return " ".join(parts)


def _compared(found: Comparison) -> list[Field]:
    paper = Field(NONE)
    if found.paper is not None:
        paper = Field(written(found.paper, found.paper_sem), found.paper)
    gap = found.difference
    difference = Field(NONE)
    if gap is not None:
        sign = {"better": "▲", "worse": "▼", "same": "=", "open": "?"}[found.verdict]
        sign += "†" if found.hangs_on_reading else ""
        difference = Field(
            f"{gap:+.2f} {sign}".replace("-", "−"), gap, found.verdict, found.verdict
        )
    return [_summary(found.ours), paper, difference]


def _summary(found: Summary | None) -> Field:
    if found is None:
        return Field(NONE)
    return Field(written(found.mean, found.sem), found.mean)


def written(mean: float, sem: float | None) -> str:
    """Write a mean and its standard error, with a true minus.

    >>> written(-16.042, None), written(90.03, 0.24)
    ('−16.04', '90.03 ± 0.24')
    """
    return plain(mean, sem).replace("-", "−")


def summary_text(found: Summary | None) -> str:
    """Write a mean and its standard error, or that there is none."""
    return NONE if found is None else written(found.mean, found.sem)


def corrected(differences: Sequence[Summary | None]) -> list[str]:
    """Write differences with their intervals, in bold where Holm's correction leaves p < 0.05."""
    p_values = holm([None if d is None else d.p_value for d in differences])
    texts = []
    for difference, p in zip(differences, p_values, strict=True):
        mark = "**" if p is not None and p < _LIMIT else ""
        texts.append(NONE if difference is None else f"{mark}{effect(difference)}{mark}")
    return texts


def _seeds(cell: Cell) -> Field:
    """Write how many seeds a cell has, and what happened to the others."""
    notes = []
    if cell.failed:
        notes.append(f"{len(cell.failed)} failed")
    if cell.missing:
        notes.append(f"{len(cell.missing)} missing")
    text = str(len(cell.runs)) + (f" ({', '.join(notes)})" if notes else "")
    return Field(text, len(cell.runs), "warn" if notes else "")


def _dataset(cell: Cell) -> Field:
    return Field(name_of(cell.dataset))


def _scenario(cell: Cell) -> Field:
    return Field(name_of(cell.scenario))


def _method(cell: Cell) -> Field:
    return Field(name_of(cell.method))


def _negatives(cell: Cell) -> Field:
    return Field(cell.method or NONE)


def _algorithm(cell: Cell) -> Field:
    found = cell.compare(main_metric(cell.scenario))
    star = "" if found.as_paper or found.paper is None else "*"
    variant = f" ({cell.variant})" if cell.variant else ""
    return Field(f"{name_of(cell.algorithm)}{variant}{star}")
