"""The probability functions of FFA and SFFA side by side (the paper's figure of appendix B)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sffa.analysis.surfaces import Surface, ffa_surface, sffa_surface
from sffa.report.drawing import Drawing, finish
from sffa.report.style import styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh


def surfaces(ffa: Surface | None = None, sffa: Surface | None = None) -> Drawing:
    """Draw both surfaces, with lines of equal probability."""
    from matplotlib.figure import Figure

    left, right = ffa or ffa_surface(), sffa or sffa_surface()
    with styled():
        figure = Figure(figsize=(7.2, 3.3))
        axes = figure.subplots(1, 2)
        mesh = _draw(axes[0], left, "FFA", "Total activity", "Threshold θ")
        _draw(axes[1], right, "SFFA", "Positive energy", "Negative energy")
        bar = figure.colorbar(mesh, ax=axes, shrink=0.92, ticks=[0, 0.25, 0.5, 0.75, 1])
        bar.set_label("Probability of being positive")
        bar.outline.set_linewidth(0.6)
        rows = [
            {"algorithm": name, "x": x, "y": y, "p": p}
            for name, surface in (("ffa", left), ("sffa", right))
            for y, line in zip(surface.y.tolist(), surface.p.tolist(), strict=True)
            for x, p in zip(surface.x.tolist(), line, strict=True)
        ]
        return finish(
            "probability-surfaces",
            "Probability functions of FFA and SFFA",
            "Left: sigmoid(activity − θ), one function for each threshold; at rest it stays above "
            "zero. Right: the positive share of the energy, which needs no threshold and is "
            "symmetric. Lines mark probabilities of 0.1, 0.25, 0.5, 0.75 and 0.9.",
            figure,
            rows,
        )


def _draw(axes: Axes, surface: Surface, title: str, x: str, y: str) -> QuadMesh:
    mesh = axes.pcolormesh(
        surface.x, surface.y, surface.p, vmin=0, vmax=1, shading="gouraud", rasterized=True
    )
    lines = axes.contour(
        surface.x,
        surface.y,
        surface.p,
        levels=[0.1, 0.25, 0.5, 0.75, 0.9],
        colors=["#ffffff", "#ffffff", "#ffffff", "#000000", "#000000"],
        linewidths=0.8,
    )
    axes.clabel(lines, fmt="%g", fontsize=7)
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(visible=False)
    axes.set_box_aspect(1)
    return mesh
