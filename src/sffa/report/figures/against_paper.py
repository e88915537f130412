"""Ours against the paper's, all cells at a glance: a point on the line is the same accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sffa.report.cells import Cell
from sffa.report.compare import compare
from sffa.report.drawing import Drawing, finish
from sffa.report.records import SCENARIOS, sort_keys
from sffa.report.style import INK, colour_of, short_name, styled

MARKS = {"bp": "s", "ffa": "^", "sffa": "o"}


def agreement(cells: Sequence[Cell]) -> Drawing | None:
    """Draw the final accuracy of every continual cell that the paper has too."""
    pairs = [
        (cell, found)
        for cell in cells
        if cell.scenario != "static" and (found := compare(cell, "acc")).difference is not None
    ]
    if not pairs:
        return None
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    scenarios = sort_keys((cell.scenario for cell, _ in pairs), SCENARIOS)
    algorithms = list(dict.fromkeys(cell.algorithm for cell, _ in pairs))
    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(max(3.6, 2.4 * len(scenarios)), 3.1))
        panels = figure.subplots(1, len(scenarios), squeeze=False)[0]
        for axes, scenario in zip(panels, scenarios, strict=True):
            chosen = [pair for pair in pairs if pair[0].scenario == scenario]
            values = [v for _, f in chosen if f.ours for v in (f.ours.mean, f.paper or 0.0)]
            low, high = min(values) - 4, max(values) + 4
            axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle=":")
            for cell, found in chosen:
                assert found.ours is not None
                axes.errorbar(
                    found.paper or 0.0,
                    found.ours.mean,
                    xerr=found.paper_sem,
                    yerr=found.ours.sem,
                    **_mark(cell.algorithm),
                    markersize=4.5,
                    elinewidth=0.7,
                    alpha=0.85,
                    linestyle="none",
                )
                rows.append(
                    {
                        "dataset": cell.dataset,
                        "scenario": scenario,
                        "method": cell.method,
                        "algorithm": cell.algorithm,
                        "variant": cell.variant,
                        "ours": found.ours.mean,
                        "ours_sem": found.ours.sem,
                        "paper": found.paper,
                        "paper_sem": found.paper_sem,
                    }
                )
            axes.set(title=short_name(scenario), xlim=(low, high), ylim=(low, high))
            axes.set_xlabel("Paper, %")
            axes.set_box_aspect(1)
        panels[0].set_ylabel("Ours, %")
        handles = [
            Line2D([], [], linestyle="none", label=short_name(algorithm), **_mark(algorithm))
            for algorithm in algorithms
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        return finish(
            "agreement",
            "Final accuracy: ours against the paper's",
            "One point for each dataset and method, with standard errors where they are known; "
            "on the dotted line both are equal.",
            figure,
            rows,
        )


def _mark(algorithm: str) -> dict[str, Any]:
    return {"color": colour_of(algorithm), "marker": MARKS.get(algorithm, "D")}
