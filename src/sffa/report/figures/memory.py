"""What is kept of each class in place of examples, drawn as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sffa.analysis.memory import Remembered
from sffa.report.drawing import Drawing, finish
from sffa.report.style import short_name, styled


def memory(
    classes: Sequence[Remembered],
    shape: tuple[int, ...],
    names: Sequence[str],
    dataset: str,
    megabytes: float,
) -> Drawing:
    """Draw a row for each class: means of its parts, pseudo-examples, and real examples beside."""
    from matplotlib.figure import Figure

    parts = max(len(each.means) for each in classes)
    drawn, real = len(classes[0].drawn), len(classes[0].examples)
    columns = parts + drawn + real
    titles = {0: "means", parts: "drawn", parts + drawn: "real, not kept"}
    with styled():
        figure = Figure(figsize=(0.42 * columns + 0.9, 0.45 * len(classes) + 0.7))
        grid = figure.subplots(len(classes), columns, squeeze=False)
        for row, each in zip(grid, classes, strict=True):
            pictures = [*each.means, *[None] * (parts - len(each.means)), *each.drawn]
            pictures += [*each.examples, *[None] * (real - len(each.examples))]
            for axes, values in zip(row, pictures, strict=True):
                _picture(axes, values, shape)
            row[0].set_ylabel(
                short_name(names[each.label], 10), rotation=0, ha="right", va="center"
            )
        for column, title in titles.items():
            grid[0][column].set_title(title, loc="left", fontsize=8)
        return finish(
            f"memory-{dataset}",
            f"What gaussian keeps of {short_name(dataset)}",
            f"Each class leaves the means of its parts and the directions in which they vary, "
            f"{megabytes:.2f} MB in all. Pseudo-examples are drawn from these; the real examples "
            "beside them are not kept.",
            figure,
            [],
        )


def _picture(axes: Any, values: Any, shape: tuple[int, ...]) -> None:
    """Draw one example, or nothing."""
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    if values is not None:
        picture = np.asarray(values).reshape(shape if len(shape) > 1 else (1, -1))
        axes.imshow(picture.clip(0, 1), vmin=0, vmax=1, cmap="gray_r", interpolation="nearest")
