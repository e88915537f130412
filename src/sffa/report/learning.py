"""The learning curve of one training: loss, and accuracy in all and by layer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any


def learning_curve(epochs: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the epochs of a training (as `sffa.core.Epoch` has them) into a PNG file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 3.2), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    loss, accuracy = figure.subplots(1, 2)
    numbers = [epoch["number"] for epoch in epochs]
    loss.plot(numbers, [epoch["loss"] for epoch in epochs], color="#0072B2", marker=".")
    loss.set_ylabel("training loss")
    accuracy.plot(
        numbers,
        [epoch["accuracy"]["test"] for epoch in epochs],
        color="#000000",
        marker=".",
        label="all layers",
    )
    by_layer = [epoch["layer_accuracy"]["test"] for epoch in epochs]
    depth = min((len(layers) for layers in by_layer), default=0)
    for layer, colour in zip(
        range(depth), ("#E69F00", "#56B4E9", "#009E73", "#CC79A7"), strict=False
    ):
        values = [layers[layer] for layers in by_layer]
        accuracy.plot(
            numbers, values, color=colour, linestyle="--", label=f"layer {layer + 1} alone"
        )
    accuracy.set_ylabel("test accuracy, %")
    if depth:
        accuracy.legend(frameon=False)
    for axis in (loss, accuracy):
        axis.set_xlabel("epoch")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, format="png")
