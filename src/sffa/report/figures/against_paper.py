"""Ours against the paper's, all cells at a glance: a point on the line is the same accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sffa.report.cells import Cell
from sffa.report.drawing import Drawing, finish
from sffa.report.style import short_name, styled
from sffa.study.compare import Comparison
from sffa.vocabulary import INK, SCENARIOS, algorithm_term, sort_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def agreement(cells: Sequence[Cell]) -> Drawing | None:
    """Draw the final accuracy of every continual cell that the paper has too."""
    found = [cell.compare("acc") for cell in cells if not cell.static]
    variants = [cell.variant for cell in cells if not cell.static]
    pairs = [pair for pair in zip(found, variants, strict=True) if pair[0].difference is not None]
    if not pairs:
        return None
    from matplotlib.figure import Figure

    scenarios = sort_keys((one.scenario for one, _ in pairs), SCENARIOS)
    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(max(3.6, 2.4 * len(scenarios)), 3.1))
        panels = figure.subplots(1, len(scenarios), squeeze=False)[0]
        for axes, scenario in zip(panels, scenarios, strict=True):
            shown = [pair for pair in pairs if pair[0].scenario == scenario]
            _panel(axes, scenario, [one for one, _ in shown])
            rows += [_row(one, variant) for one, variant in shown]
        panels[0].set_ylabel("Ours, %")
        _legend(figure, list(dict.fromkeys(one.algorithm for one, _ in pairs)))
        return finish(
            "agreement",
            "Final accuracy: ours against the paper's",
            "One point for each dataset and method, with standard errors where they are known; "
            "on the dotted line both are equal.",
            figure,
            rows,
        )


def _panel(axes: Axes, scenario: str, found: list[Comparison]) -> None:
    values = [v for one in found if one.ours for v in (one.ours.mean, one.paper or 0.0)]
    low, high = min(values) - 4, max(values) + 4
    axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle=":")
    for one in found:
        assert one.ours is not None
        axes.errorbar(
            one.paper or 0.0,
            one.ours.mean,
            xerr=one.paper_sem,
            yerr=one.ours.sem,
            **_mark(one.algorithm),
            markersize=4.5,
            elinewidth=0.7,
            alpha=0.85,
            linestyle="none",
        )
    axes.set(title=short_name(scenario), xlim=(low, high), ylim=(low, high))
    axes.set_xlabel("Paper, %")
    axes.set_box_aspect(1)


def _row(one: Comparison, variant: str) -> dict[str, object]:
    assert one.ours is not None
    return {
        "dataset": one.dataset,
        "scenario": one.scenario,
        "method": one.method,
        "algorithm": one.algorithm,
        "variant": variant,
        "ours": one.ours.mean,
        "ours_sem": one.ours.sem,
        "paper": one.paper,
        "paper_sem": one.paper_sem,
    }


def _legend(figure: Any, algorithms: list[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="none", label=short_name(algorithm), **_mark(algorithm))
        for algorithm in algorithms
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _mark(algorithm: str) -> dict[str, Any]:
    term = algorithm_term(algorithm)
    return {"color": term.colour, "marker": term.mark}
