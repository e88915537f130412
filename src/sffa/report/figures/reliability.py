"""Reliability curves: how often a goodness is right, against how sure it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sffa.analysis.calibration import Calibration, Reliability
from sffa.report.drawing import Drawing, finish
from sffa.report.style import colour_of, short_name, styled
from sffa.vocabulary import INK

FEWEST = 10
MARKS = ("o", "s", "^", "D", "v", "P")


def calibration(found: Mapping[str, Calibration], dataset: str = "") -> Drawing:
    """Draw the curves of all networks: of every (example, label) pair, and of the prediction."""
    from matplotlib.figure import Figure

    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(7.2, 3.7))
        panels = figure.subplots(1, 2)
        for axes, which in zip(panels, ("pairs", "predicted"), strict=True):
            axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
            for number, (name, result) in enumerate(found.items()):
                curve: Reliability = getattr(result, which)
                label = f"{short_name(name)}, error {100 * curve.error:.1f} %"
                filled = curve.count >= FEWEST
                axes.plot(
                    curve.confidence[filled],
                    curve.frequency[filled],
                    color=colour_of(name),
                    marker=MARKS[number % len(MARKS)],
                    label=label,
                )
                rows += _rows(name, which, curve)
            axes.set(xlim=(0, 1), ylim=(0, 1.24), yticks=[0, 0.25, 0.5, 0.75, 1])
            axes.set_box_aspect(1.1)
            axes.legend(loc="upper left")
        panels[0].set(title="Every label of every example", ylabel="How often right")
        panels[1].set(title="The predicted label")
        figure.supxlabel("Goodness as a probability", fontsize=9)
        return finish(
            f"calibration{'-' + dataset if dataset else ''}",
            "Calibration of the goodness",
            "In 15 bins of the goodness, as a probability and averaged over layers: how often the "
            "label is right. On the dotted line a goodness means what it says; the expected "
            "calibration error is the mean distance from it. Bins with fewer than "
            f"{FEWEST} cases are not drawn.",
            figure,
            rows,
        )


def _rows(name: str, which: str, curve: Reliability) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "of": which,
            "from": low,
            "to": high,
            "confidence": c,
            "frequency": f,
            "count": n,
        }
        for low, high, c, f, n in zip(
            curve.edges[:-1].tolist(),
            curve.edges[1:].tolist(),
            np.nan_to_num(curve.confidence).tolist(),
            np.nan_to_num(curve.frequency).tolist(),
            curve.count.tolist(),
            strict=True,
        )
    ]
