"""Accuracy in Class IL against what is kept of the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sffa.report.cells import Cell
from sffa.report.drawing import Drawing, finish
from sffa.report.kept import BOUND, CLOSED, Kept, method_of, settings_of
from sffa.report.style import short_name, styled
from sffa.vocabulary import (
    ALGORITHMS,
    INK,
    METHODS,
    algorithm_term,
    method_term,
    name_of,
    sort_keys,
)

_LEAST = 0.03  # MB: what keeps nothing is drawn here
_WHOLE = 100.5
_TICKS = (20, 50, 70, 80, 85, 90, 95, 97)
_ASIDE = {"sffa-contrast": 0.92, "bp": 1.09}
_LINE: dict[str, Any] = {"linestyle": "--", "linewidth": 0.9}
_OTHER = "1"  # the mark of a network with other settings than its preset


def kept_figure(found: Sequence[Kept]) -> Drawing | None:
    """Draw a point for each method and algorithm, one panel for each dataset."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(each.cell.dataset for each in found))
    if not datasets:
        return None
    with styled():
        figure = Figure(figsize=(3.6 * len(datasets) + 1.6, 3.6))
        panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
        for axes, dataset in zip(panels, datasets, strict=True):
            _panel(axes, [each for each in found if each.cell.dataset == dataset])
            axes.set_title(short_name(dataset))
            axes.set_xlabel("Kept of the past, MB (left end: nothing)")
        panels[0].set_ylabel("Accuracy, %")
        _legend(figure, found)
        return finish(
            "kept",
            "Class IL: accuracy against what is kept",
            "Accuracy over all classes after the last experience, against the megabytes of "
            "examples, statistics or weights that are kept; bars are standard errors over seeds. "
            "Algorithms of one method stand a little apart; dashed lines are those of joint "
            "training, where it was run, which keeps every example.",
            figure,
            [
                {
                    "dataset": each.cell.dataset,
                    "method": each.cell.method,
                    "algorithm": each.cell.algorithm,
                    "settings": settings_of(each.cell),
                    "accuracy": each.accuracy.mean,
                    "sem": each.accuracy.sem,
                    "megabytes": each.megabytes,
                    "seeds": each.accuracy.count,
                }
                for each in found
            ],
        )


def _panel(axes: Any, found: Sequence[Kept]) -> None:
    """Draw a point for each cell: its colour the algorithm, its mark the method.

    Accuracies are spread as the logarithm of the error, or the best could not be told apart.
    """
    axes.set_xscale("log")
    axes.set_yscale("function", functions=(_spread, _gathered))
    axes.set_yticks(_TICKS, minor=False)
    axes.set_yticks([], minor=True)
    for each in found:
        colour = algorithm_term(each.cell.algorithm).colour
        if each.cell.method == BOUND:
            axes.axhline(each.accuracy.mean, color=colour, **_LINE)
            continue
        axes.errorbar(
            max(each.megabytes, _LEAST) * _aside(each.cell),
            each.accuracy.mean,
            yerr=each.accuracy.sem or 0.0,
            color=colour,
            marker=_mark(each.cell),
            linestyle="none",
        )


def _spread(accuracy: Any) -> Any:
    return -np.log10(np.clip(_WHOLE - np.asarray(accuracy, dtype=float), 1e-3, None))


def _gathered(spread: Any) -> Any:
    return _WHOLE - 10.0 ** -np.asarray(spread, dtype=float)


def _aside(cell: Cell) -> float:
    """Return by what a point stands aside, so that algorithms of one method can be seen."""
    return _ASIDE.get(cell.algorithm, 1.0)


def _other_network(cell: Cell) -> bool:
    """Whether the network itself differs from its preset, not only the options of the method."""
    return any(name.startswith("network.") for name in cell.deviations)


def _mark(cell: Cell) -> str:
    if _other_network(cell):
        return _OTHER
    closed = cell.algorithm in CLOSED
    return (algorithm_term(cell.algorithm) if closed else method_term(cell.method)).mark or "o"


def _legend(figure: Any, found: Sequence[Kept]) -> None:
    """Explain colours, then marks, beside the panels: a line for each cell would hide them."""
    from matplotlib.lines import Line2D

    cells = [each.cell for each in found]
    signs = []
    for algorithm in sort_keys((cell.algorithm for cell in cells), ALGORITHMS):
        term = algorithm_term(algorithm)
        signs.append((term.name, term.colour, term.mark if algorithm in CLOSED else "s"))
    plain = [cell for cell in cells if cell.algorithm not in CLOSED and not _other_network(cell)]
    methods = {cell.method for cell in plain} - {BOUND}
    for method in sort_keys(methods, METHODS):
        signs.append((name_of(method), INK, method_term(method).mark or "o"))
    others = dict.fromkeys(method_of(cell) for cell in cells if _other_network(cell))
    signs += [(name, INK, _OTHER) for name in others]
    handles = [
        Line2D([], [], color=colour, marker=mark, linestyle="none", label=short_name(name, 40))
        for name, colour, mark in signs
    ]
    if any(cell.method == BOUND for cell in cells):
        bound = f"{name_of(BOUND)} (every example)"
        handles.append(Line2D([], [], color=INK, label=bound, **_LINE))
    figure.legend(handles=handles, loc="outside right center", fontsize=7)
