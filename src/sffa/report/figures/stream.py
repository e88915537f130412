"""Accuracy along the stream in the three scenarios (the paper's figure of RQ2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sffa.record import number
from sffa.report.cells import Cell
from sffa.report.drawing import Drawing, finish
from sffa.report.style import line_of, short_name, styled
from sffa.vocabulary import ALGORITHMS, METHODS, SCENARIOS, sort_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def streams(cells: Sequence[Cell]) -> list[Drawing]:
    """Draw one figure for each dataset that has continual runs with curves."""
    usable = [cell for cell in cells if not cell.static and len(curves(cell))]
    datasets = list(dict.fromkeys(cell.dataset for cell in usable))
    return [_stream(name, [c for c in usable if c.dataset == name]) for name in datasets]


def curves(cell: Cell) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the accuracy over seen experiences (runs, experiences), runs of one length."""
    found = []
    for run in cell.runs:
        values = run.details.get("curve")
        if isinstance(values, Sequence) and values and not isinstance(values, str):
            row = [number(value) for value in values]
            if all(value is not None for value in row):
                found.append(row)
    length = max((len(row) for row in found), default=0)
    return np.array([row for row in found if len(row) == length], dtype=np.float64)


def _stream(dataset: str, cells: list[Cell]) -> Drawing:
    from matplotlib.figure import Figure

    scenarios = sort_keys((cell.scenario for cell in cells), SCENARIOS)
    ordered = sort_keys((cell.algorithm for cell in cells), ALGORITHMS)
    distinct = dict.fromkeys((cell.algorithm, cell.variant) for cell in cells)
    lines = sorted(distinct, key=lambda line: ordered.index(line[0]))
    rows: list[dict[str, Any]] = []
    with styled():
        size = (1.0 + 2.15 * len(scenarios), 0.9 + 1.85 * len(lines))
        figure = Figure(figsize=(max(size[0], 4.2), size[1]))
        grid = figure.subplots(
            len(lines), len(scenarios), sharex="col", sharey="col", squeeze=False
        )
        for i, line in enumerate(lines):
            for j, scenario in enumerate(scenarios):
                chosen = [
                    c for c in cells if (c.algorithm, c.variant, c.scenario) == (*line, scenario)
                ]
                rows += _panel(grid[i, j], chosen)
                if i == 0:
                    grid[i, j].set_title(short_name(scenario))
            grid[i, 0].set_ylabel(_row_label(*line))
        for column, axes in enumerate(grid[-1]):
            axes.set_xlabel("Experiences learned")
            low = _floor(row for row in rows if row["scenario"] == scenarios[column])
            axes.set_ylim(low, 100 + 0.02 * (100 - low))
        _legend(figure, cells)
        seeds = max(len(cell.runs) for cell in cells)
        return finish(
            f"stream-{dataset}",
            f"Accuracy along the stream: {short_name(dataset)}",
            "Accuracy over the test data of all experiences learned so far; mean over seeds "
            f"({seeds} at most), the band one standard deviation to each side.",
            figure,
            rows,
        )


def _floor(rows: Iterable[dict[str, Any]]) -> float:
    """Begin an axis at the ten below all bands, or at zero if that is not far."""
    low = min(row["mean"] - row["sd"] for row in rows)
    return 0.0 if low < 30 else 10 * float(np.floor((low - 2) / 10))


def _row_label(algorithm: str, variant: str) -> str:
    short = f"\n{short_name(variant, 28)}" if variant else ""
    return f"{short_name(algorithm)}{short}\naccuracy, %"


def _panel(axes: Axes, cells: list[Cell]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for cell in cells:
        values = curves(cell)
        mean, spread = values.mean(axis=0), values.std(axis=0, ddof=min(1, len(values) - 1))
        x = np.arange(1, len(mean) + 1)
        look = line_of(cell.method)
        axes.fill_between(
            x,
            np.maximum(mean - spread, 0),
            np.minimum(mean + spread, 100),
            color=look["color"],
            alpha=0.13,
            linewidth=0,
        )
        axes.plot(x, mean, **look)
        rows += [
            {
                "dataset": cell.dataset,
                "scenario": cell.scenario,
                "algorithm": cell.algorithm,
                "method": cell.method,
                "variant": cell.variant,
                "experience": int(n),
                "mean": float(m),
                "sd": float(s),
                "runs": len(values),
            }
            for n, m, s in zip(x, mean, spread, strict=True)
        ]
    if cells:
        axes.set_xticks(range(1, max(len(curves(cell)[0]) for cell in cells) + 1))
    else:
        axes.text(0.5, 0.5, "not run", ha="center", va="center", transform=axes.transAxes)
    return rows


def _legend(figure: Any, cells: list[Cell]) -> None:
    from matplotlib.lines import Line2D

    methods = sort_keys((cell.method for cell in cells), METHODS)
    handles = [Line2D([], [], label=short_name(method), **line_of(method)) for method in methods]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(methods), 6))
