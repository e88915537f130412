"""Static runs: learning curves, and the accuracy of each algorithm beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sffa.record import number
from sffa.report.cells import Cell, label
from sffa.report.drawing import Drawing, finish
from sffa.report.style import short_name, styled
from sffa.vocabulary import INK, algorithm_term

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Table = np.ndarray[Any, np.dtype[np.float64]]


def learning_curves(cells: Sequence[Cell]) -> list[Drawing]:
    """Draw test accuracy and loss over epochs, one figure for each dataset."""
    usable = [c for c in cells if c.static and len(epochs(c, "test"))]
    datasets = list(dict.fromkeys(cell.dataset for cell in usable))
    return [_curves(name, [c for c in usable if c.dataset == name]) for name in datasets]


def epochs(cell: Cell, key: str) -> Table:
    """Return a value of each epoch (runs, epochs); those of another length left out."""
    found = []
    for run in cell.runs:
        curve = run.details.get("curve")
        if not isinstance(curve, Sequence) or isinstance(curve, str):
            continue
        row = [number(point.get(key)) for point in curve if isinstance(point, Mapping)]
        if row and all(value is not None for value in row):
            found.append(row)
    length = max((len(row) for row in found), default=0)
    return np.array([row for row in found if len(row) == length], dtype=np.float64)


def _curves(dataset: str, cells: list[Cell]) -> Drawing:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(7.2, 3.2))
        left, right = figure.subplots(1, 2)
        for cell in cells:
            name = label(cell, cells)
            rows += _lines(left, cell, "test", name) + _lines(right, cell, "loss", name)
        left.set(title="Test accuracy, %", xlabel="Epoch")
        right.set(title="Training loss", xlabel="Epoch", yscale="log")
        right.grid(visible=True, which="minor", axis="y", alpha=0.06)
        for axes in (left, right):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
        return finish(
            f"learning-{dataset}",
            f"Learning curves: {short_name(dataset)}",
            "Accuracy on the test split and training loss after each epoch; mean over seeds, the "
            "band one standard deviation to each side. Losses of different algorithms measure "
            "different things: compare their course, not their height.",
            figure,
            rows,
        )


def _lines(axes: Axes, cell: Cell, key: str, name: str) -> list[dict[str, object]]:
    values = epochs(cell, key)
    if not len(values):
        return []
    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
    x = np.arange(1, len(mean) + 1)
    term = algorithm_term(cell.algorithm)
    colour, dash = term.colour, term.dash
    if len(values) > 1:
        low = np.maximum(mean - spread, mean / 2)
        axes.fill_between(x, low, mean + spread, color=colour, alpha=0.15, linewidth=0)
    mark = "o" if len(mean) < 15 else None
    axes.plot(x, mean, color=colour, linestyle=dash, label=name, marker=mark)
    return [
        {
            "dataset": cell.dataset,
            "algorithm": cell.algorithm,
            "variant": cell.variant,
            "value": key,
            "epoch": int(n),
            "mean": float(m),
            "sd": float(s),
            "runs": len(values),
        }
        for n, m, s in zip(x, mean, spread, strict=True)
    ]


def accuracy_bars(cells: Sequence[Cell]) -> Drawing | None:
    """Draw the best test accuracy of each algorithm, and the paper's as a line across."""
    usable = [c for c in cells if c.static and c.summary("best")]
    if not usable:
        return None
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(cell.dataset for cell in usable))
    kinds = list(dict.fromkeys(label(cell, usable) for cell in usable))
    with styled():
        bars = len(datasets) * len(kinds)
        figure = Figure(figsize=(min(7.2, 2.4 + 0.55 * bars), 3.1))
        axes = figure.subplots()
        rows = []
        for cell in usable:
            place = datasets.index(cell.dataset), kinds.index(label(cell, usable)), len(kinds)
            rows.append(_bar(axes, cell, place, roomy=bars <= 12))
        axes.set_xticks(range(len(datasets)), [short_name(name) for name in datasets])
        axes.set_ylim(_floor(rows), 101.5)
        axes.set_ylabel("Best test accuracy, %")
        axes.grid(visible=False, axis="x")
        paper = any(row["paper"] is not None for row in rows)
        _bar_legend(figure, usable, paper)
        return finish(
            "accuracy",
            "Accuracy on the static datasets",
            "Best accuracy on the test split over the epochs, mean over seeds with its standard "
            "error; the axis does not begin at zero."
            + (" The line across a bar is the paper's value." if paper else ""),
            figure,
            rows,
        )


def _floor(rows: list[dict[str, Any]]) -> float:
    """Begin the axis at the ten below the smallest value."""
    values = [row[key] for row in rows for key in ("mean", "paper") if row[key] is not None]
    return max(0.0, 10 * float(np.floor((min(values) - 3) / 10)))


def _bar(axes: Axes, cell: Cell, place: tuple[int, int, int], roomy: bool) -> dict[str, Any]:
    """Draw one bar; ``place`` is the dataset, the kind within it, and how many kinds there are."""
    dataset, kind, kinds = place
    width = 0.8 / kinds
    x = dataset + (kind - (kinds - 1) / 2) * width
    found = cell.compare("best")
    assert found.ours is not None
    mean, sem = found.ours.mean, found.ours.sem
    axes.bar(x, mean, 0.92 * width, **_fill(cell))
    if sem is not None:
        axes.errorbar(x, mean, sem, color=INK, capsize=2, linewidth=1)
    if found.paper is not None:
        half = 0.46 * width
        axes.plot([x - half, x + half], [found.paper] * 2, color=INK, linewidth=2)
    if roomy:
        top = max(mean + (sem or 0), found.paper or 0)
        offset: dict[str, Any] = {"xytext": (0, 3), "textcoords": "offset points"}
        axes.annotate(f"{mean:.1f}", (x, top), ha="center", fontsize=7.5, **offset)
    return {
        "dataset": cell.dataset,
        "algorithm": cell.algorithm,
        "negatives": cell.method,
        "variant": cell.variant,
        "mean": mean,
        "sem": sem,
        "seeds": found.ours.count,
        "paper": found.paper,
    }


def _fill(cell: Cell) -> dict[str, Any]:
    term = algorithm_term(cell.algorithm)
    return {"facecolor": (term.colour, 0.45), "edgecolor": term.colour, "hatch": term.hatch}


def _bar_legend(figure: Any, cells: list[Cell], paper: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    named = {label(cell, cells): cell for cell in cells}
    handles: list[Any] = [Patch(label=name, **_fill(cell)) for name, cell in named.items()]
    if paper:
        handles.append(Line2D([], [], color=INK, linewidth=2, label="the paper"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))
