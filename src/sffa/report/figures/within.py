"""Accuracy and training loss against the examples seen, within experiences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sffa.record import Record, number
from sffa.report.cells import Cell, label
from sffa.report.drawing import Drawing, finish
from sffa.report.style import line_of, short_name, styled
from sffa.vocabulary import GREY, algorithm_term, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Table = np.ndarray[Any, np.dtype[np.float64]]
_VALUES = ("examples", "accuracy", "loss", "experience")


def within(cells: Sequence[Cell]) -> list[Drawing]:
    """Draw one figure for each dataset and scenario whose runs were tested within experiences."""
    usable = [cell for cell in cells if not cell.static and len(curves(cell))]
    places = list(dict.fromkeys((cell.dataset, cell.scenario) for cell in usable))
    return [
        _figure(place, [c for c in usable if (c.dataset, c.scenario) == place]) for place in places
    ]


def curves(cell: Cell) -> Table:
    """Return examples, accuracy, loss and experience (runs, points, 4); runs of one length."""
    found = [rows for run in cell.runs if (rows := _points(run))]
    length = max((len(rows) for rows in found), default=0)
    kept = [rows for rows in found if len(rows) == length]
    return np.array(kept, dtype=np.float64).reshape(len(kept), length, len(_VALUES))


def _points(run: Record) -> list[list[float]]:
    """Return the points of a run, none if one of them is not whole."""
    given = run.details.get("within")
    rows = []
    for point in given if isinstance(given, list) else []:
        row = [number(point.get(name)) for name in _VALUES] if isinstance(point, Mapping) else []
        if not row or None in row:
            return []
        rows.append([value for value in row if value is not None])
    return rows


def _figure(place: tuple[str, str], cells: list[Cell]) -> Drawing:
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    rows: list[dict[str, Any]] = []
    with styled():
        figure = Figure(figsize=(7.2, 3.4))
        left, right = figure.subplots(1, 2)
        for cell in cells:
            rows += _lines(left, cell, cells, "accuracy") + _lines(right, cell, cells, "loss")
        longest = max((curves(cell)[0] for cell in cells), key=len)
        ends = np.flatnonzero(np.diff(longest[:, 3]))
        for axes in (left, right):
            for end in ends:
                axes.axvline(longest[end, 0], color=GREY, linewidth=0.6, linestyle=":")
            axes.set_xlabel("Examples seen")
        left.set(title="Accuracy over the experiences begun, %", ylim=(0, 102))
        right.set(title="Training loss", yscale="log")
        right.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        right.yaxis.set_major_formatter("{x:g}")
        right.yaxis.set_minor_formatter("")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 3))
        return finish(
            f"within-{'-'.join(place)}",
            f"Within experiences: {short_name(place[0])}, {short_name(place[1])}",
            "Accuracy over the test data of the experiences begun, and mean training loss since "
            "the point before, against the examples seen, each pass counted; mean over seeds, the "
            "band one standard deviation to each side. Dotted lines part experiences. Losses of "
            "different algorithms measure different things.",
            figure,
            rows,
        )


def _lines(axes: Axes, cell: Cell, cells: list[Cell], value: str) -> list[dict[str, Any]]:
    table = curves(cell)
    x, values = table[0, :, 0], table[:, :, _VALUES.index(value)]
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    look = {**line_of(cell.method), "color": algorithm_term(cell.algorithm).colour}
    if len(values) > 1:
        low = np.maximum(mean - spread, mean / 10)
        axes.fill_between(x, low, mean + spread, color=look["color"], alpha=0.13, linewidth=0)
    name = f"{name_of(cell.method)}, {label(cell, [c for c in cells if c.method == cell.method])}"
    axes.plot(x, mean, label=name, **{**look, "marker": ""})
    return [
        {
            "dataset": cell.dataset,
            "scenario": cell.scenario,
            "method": cell.method,
            "algorithm": cell.algorithm,
            "variant": cell.variant,
            "value": value,
            "examples": int(n),
            "mean": float(m),
            "sd": float(s),
            "runs": len(values),
        }
        for n, m, s in zip(x, mean, spread, strict=True)
    ]
