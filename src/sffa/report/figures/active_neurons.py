"""Distributions of highly active neurons, and the Hoyer table beside them (appendix C)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sffa.analysis.sparsity import Sparsity
from sffa.report.drawing import Drawing, finish
from sffa.report.style import SIGNS, short_name, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sparsity(found: Mapping[str, Sparsity], dataset: str = "") -> Drawing:
    """Draw one panel for each algorithm (or other name) whose latents were measured."""
    from matplotlib.figure import Figure

    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(max(3.6, 3.4 * len(found)), 3.0))
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, (name, result) in zip(panels, found.items(), strict=True):
            rows += _panel(axes, name, result)
        panels[0].set_ylabel("Latent vectors")
        figure.supxlabel("Neurons that hold more than 1 % of a latent's activity", fontsize=9)
        where = f" on {short_name(dataset)}" if dataset else ""
        slug = f"-{dataset}" if dataset else ""
        return finish(
            f"sparsity{slug}",
            f"Sparsity of the latents{where}",
            "How many neurons hold more than 1 % of a latent's activity, over all layers, for "
            "inputs with their right label (positive) and with a wrong one (negative). The Hoyer "
            "score in the legend is the mean over inputs and layers; 1 is one active neuron.",
            figure,
            rows,
        )


def _panel(axes: Axes, name: str, result: Sparsity) -> list[dict[str, object]]:
    top = max(int(counts.max()) for counts in result.active.values()) + 1
    width = max(1, round(top / 40))
    edges = np.arange(-0.5, top + width, width)
    rows: list[dict[str, object]] = []
    for sign, counts in result.active.items():
        mean = result.hoyer[sign].mean()
        amount, _ = np.histogram(counts, bins=edges)
        axes.stairs(amount, edges, fill=True, alpha=0.35, color=SIGNS[sign])
        axes.stairs(
            amount,
            edges,
            color=SIGNS[sign],
            linewidth=1.3,
            linestyle="-" if sign == "positive" else "--",
            label=f"{sign}, Hoyer {mean:.3f}",
        )
        exact = np.bincount(counts.ravel(), minlength=top)
        rows += [
            {"name": name, "input": sign, "neurons": n, "latents": int(m), "mean_hoyer": mean}
            for n, m in enumerate(exact)
        ]
    axes.set_title(short_name(name))
    axes.legend(loc="upper right")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.18)
    axes.set_xlim(left=-0.5)
    return rows
