"""Simulated updates in the plane of energies (the paper's last figure), both cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sffa.analysis.dynamics import ALPHA, CASES, STEPS, Path, descend, simulate
from sffa.report.drawing import Drawing, finish
from sffa.report.style import styled
from sffa.vocabulary import BLUE, GREEN, INK, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dynamics(alpha: float = ALPHA, steps: int = STEPS) -> Drawing:
    """Draw the closed forms, a linear layer and a ReLU layer over each other, and the goodness."""
    from matplotlib.figure import Figure

    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(7.2, 5.6))
        axes = figure.subplots(2, 2, height_ratios=(1.5, 1))
        for column, (case, start) in enumerate(CASES.items()):
            paths = {
                "closed form": simulate(*start, alpha, steps),
                "autograd, linear": descend(*start, alpha, steps, "identity"),
                "autograd, ReLU": descend(*start, alpha, steps, "relu"),
            }
            _plane(axes[0, column], case, start, paths)
            _goodness(axes[1, column], paths)
            rows += _rows(case, paths)
        axes[0, 0].set_ylabel("Negative energy I")
        axes[1, 0].set_ylabel("Goodness p(E, I)")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        return finish(
            "update-dynamics",
            "Simulated updates on one positive sample",
            f"Energies of the two halves over {steps} gradient steps at α = {alpha:g}, and the "
            "goodness. Case A starts near rest, where 2αS = "
            f"{2 * alpha / sum(CASES['A']):.1f} is beyond the bound of 1 under which the closed "
            "form holds for ReLU: the recurrence leaps, and a real ReLU layer loses its negative "
            "neurons in the first step. Case B stays within it and all three agree.",
            figure,
            rows,
        )


def _plane(axes: Axes, case: str, start: tuple[float, float], paths: dict[str, Path]) -> None:
    styles: dict[str, Any] = {
        "closed form": {"color": BLUE, "marker": "o", "markersize": 5.5, "zorder": 2},
        "autograd, linear": {
            "color": VERMILION, "marker": "x", "linestyle": "none", "markersize": 4.5, "zorder": 4,
        },
        "autograd, ReLU": {
            "color": GREEN, "marker": "s", "markerfacecolor": "none", "linestyle": ":", "zorder": 3,
        },
    }  # fmt: skip
    for label, path in paths.items():
        axes.plot(path.positive, path.negative, label=label, **styles[label])
    axes.plot(*start, marker="*", markersize=11, color=INK, linestyle="none", label="start")
    axes.set(title=f"Case {case}: from ({start[0]:g}, {start[1]:g})", xlabel="Positive energy E")
    axes.margins(0.08)
    axes.set_ylim(bottom=-0.06 * axes.get_ylim()[1])


def _goodness(axes: Axes, paths: dict[str, Path]) -> None:
    closed, relu = paths["closed form"], paths["autograd, ReLU"]
    axes.plot(closed.goodness, color=BLUE, marker="o")
    linear = paths["autograd, linear"].goodness
    axes.plot(linear, color=VERMILION, marker="x", linestyle="none", zorder=4)
    axes.plot(relu.goodness, color=GREEN, marker="s", markerfacecolor="none", linestyle=":")
    axes.set(xlabel="Update", ylim=(0, 1.05))
    axes.set_xticks(range(0, len(closed.goodness), 5))


def _rows(case: str, paths: dict[str, Path]) -> list[dict[str, object]]:
    return [
        {"case": case, "path": label, "update": n, "positive": e, "negative": i, "goodness": g}
        for label, path in paths.items()
        for n, (e, i, g) in enumerate(
            zip(path.positive.tolist(), path.negative.tolist(), path.goodness.tolist(), strict=True)
        )
    ]
