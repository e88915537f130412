"""What accuracy costs in a stream: seconds, memory, and multiply-adds of an example."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sffa.record import Record, number
from sffa.report.cells import Cell
from sffa.report.drawing import Drawing, finish
from sffa.report.style import short_name, styled
from sffa.vocabulary import ALGORITHMS, METHODS, algorithm_term, method_term, sort_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Cost = Callable[[Record], float | None]


def _multiply_adds(run: Record) -> float | None:
    ends = run.details.get("experiences")
    end = ends[-1] if isinstance(ends, list) and ends else {}
    counted = end.get("multiply_adds") if isinstance(end, Mapping) else None
    return number(counted.get("train")) if isinstance(counted, Mapping) else None


_COSTS: dict[str, tuple[str, _Cost]] = {
    "seconds": ("Seconds of a run", lambda run: run.seconds),
    "memory": ("Memory of the process, MB", lambda run: run.peak_memory_mb),
    "multiply_adds": ("Multiply-adds to learn one example", _multiply_adds),
}
_WIDE = 10  # the largest over the smallest, from which an axis is logarithmic


def costs(cells: Sequence[Cell]) -> list[Drawing]:
    """Draw one figure for each dataset and scenario with more than one cell."""
    usable = [cell for cell in cells if not cell.static and cell.summary("acc")]
    places = list(dict.fromkeys((cell.dataset, cell.scenario) for cell in usable))
    groups = [[c for c in usable if (c.dataset, c.scenario) == place] for place in places]
    return [_figure(group) for group in groups if len(group) > 1 and any(map(_known, group))]


def _known(cell: Cell) -> dict[str, float]:
    """Return the median of each cost over the runs that have it."""
    found = {}
    for name, (_, cost) in _COSTS.items():
        values = [value for run in cell.runs if (value := cost(run))]
        if values:
            found[name] = statistics.median(values)
    return found


def _figure(cells: list[Cell]) -> Drawing:
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter

    known = [_known(cell) for cell in cells]
    names = [name for name in _COSTS if any(name in one for one in known)]
    dataset, scenario = cells[0].dataset, cells[0].scenario
    rows: list[dict[str, Any]] = []
    with styled():
        figure = Figure(figsize=(max(4.2, 1.0 + 2.3 * len(names)), 3.3))
        panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
        for cell, one in zip(cells, known, strict=True):
            for axes, name in zip(panels, names, strict=True):
                if name in one:
                    _point(axes, cell, one[name])
            rows.append(_row(cell, one))
        for axes, name in zip(panels, names, strict=True):
            values = [one[name] for one in known if name in one]
            wide = max(values) > _WIDE * min(values)
            axes.set(xlabel=_COSTS[name][0], xscale="log" if wide else "linear")
            if not wide:
                axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 15k, not 1.5 and 1e4 aside
        panels[0].set_ylabel("Accuracy, %")
        _legend(figure, cells)
        return finish(
            f"costs-{dataset}-{scenario}",
            f"What accuracy costs: {short_name(dataset)}, {short_name(scenario)}",
            "Accuracy at the end of the stream, mean over seeds with its standard error, against "
            "medians over seeds. Seconds by the clock, on machines that may have done other work; "
            "memory is the largest of the process, libraries and data included.",
            figure,
            rows,
        )


def _point(axes: Axes, cell: Cell, cost: float) -> None:
    accuracy = cell.summary("acc")
    assert accuracy is not None
    look: dict[str, Any] = {"color": algorithm_term(cell.algorithm).colour}
    look["marker"] = method_term(cell.method).mark
    axes.errorbar(cost, accuracy.mean, yerr=accuracy.sem or 0.0, **look, linestyle="none")


def _row(cell: Cell, known: Mapping[str, float]) -> dict[str, Any]:
    accuracy = cell.summary("acc")
    assert accuracy is not None
    return {
        "dataset": cell.dataset,
        "scenario": cell.scenario,
        "method": cell.method,
        "algorithm": cell.algorithm,
        "variant": cell.variant,
        "accuracy": accuracy.mean,
        "sem": accuracy.sem,
        "seeds": accuracy.count,
        **{name: known.get(name) for name in _COSTS},
    }


def _legend(figure: Any, cells: list[Cell]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", marker="s", color=algorithm_term(name).colour)
        for name in sort_keys((cell.algorithm for cell in cells), ALGORITHMS)
    ]
    labels = sort_keys((cell.algorithm for cell in cells), ALGORITHMS)
    methods = sort_keys((cell.method for cell in cells), METHODS)
    handles += [
        Line2D([], [], linestyle="none", marker=method_term(name).mark, color="black")
        for name in methods
    ]
    named = [short_name(name) for name in (*labels, *methods)]
    figure.legend(handles, named, loc="outside lower center", ncols=min(len(named), 5))
