"""Accuracy in Class IL against what is kept of the past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sffa.report.drawing import Drawing, finish
from sffa.report.kept import CLOSED, Kept
from sffa.report.style import short_name, styled
from sffa.vocabulary import algorithm_term, method_term, name_of

_LEAST = 0.1  # MB: what keeps nothing is drawn here


def kept_figure(found: Sequence[Kept]) -> Drawing | None:
    """Draw a point for each method and algorithm, one panel for each dataset."""
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(each.cell.dataset for each in found))
    if not datasets:
        return None
    with styled():
        figure = Figure(figsize=(4.1 * len(datasets), 3.6))
        panels = figure.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
        for axes, dataset in zip(panels, datasets, strict=True):
            _panel(axes, [each for each in found if each.cell.dataset == dataset])
            axes.set_title(short_name(dataset))
            axes.set_xlabel("Kept of the past, MB (left end: nothing)")
        panels[0].set_ylabel("Accuracy, %")
        return finish(
            "kept",
            "Class IL: accuracy against what is kept",
            "Accuracy over all classes after the last experience, against the megabytes of "
            "examples or statistics that are kept; bars are standard errors over seeds.",
            figure,
            [
                {
                    "dataset": each.cell.dataset,
                    "method": each.cell.method,
                    "algorithm": each.cell.algorithm,
                    "accuracy": each.accuracy.mean,
                    "sem": each.accuracy.sem,
                    "megabytes": each.megabytes,
                    "seeds": each.accuracy.count,
                }
                for each in found
            ],
        )


def _panel(axes: Any, found: Sequence[Kept]) -> None:
    axes.set_xscale("log")
    for each in found:
        cell = each.cell
        closed = cell.algorithm in CLOSED
        name = name_of(cell.algorithm)
        label = name if closed else f"{name_of(cell.method)}, {name}"
        mark = (algorithm_term(cell.algorithm) if closed else method_term(cell.method)).mark
        axes.errorbar(
            max(each.megabytes, _LEAST),
            each.accuracy.mean,
            yerr=each.accuracy.sem or 0.0,
            color=algorithm_term(cell.algorithm).colour,
            marker=mark or "o",
            linestyle="none",
            label=short_name(label, 40),
        )
    axes.legend(loc="center left", fontsize=6.5, bbox_to_anchor=(0.0, 0.52))
