"""The learning curve of one training: loss, and accuracy in all and by layer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sffa.report.style import CYCLE, styled
from sffa.vocabulary import INK


def learning_curve(epochs: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Draw the epochs of a training (as `sffa.core.Epoch` has them) into a PNG file."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    numbers = [epoch["number"] for epoch in epochs]
    by_layer = [epoch["layer_accuracy"]["test"] for epoch in epochs]
    depth = min((len(layers) for layers in by_layer), default=0)
    with styled():
        figure = Figure(figsize=(7.2, 3.2))
        loss, accuracy = figure.subplots(1, 2)
        loss.plot(numbers, [epoch["loss"] for epoch in epochs], color=INK, marker=".")
        loss.set(title="Training loss", xlabel="Epoch")
        total = [epoch["accuracy"]["test"] for epoch in epochs]
        accuracy.plot(numbers, total, color=INK, marker=".", label="all layers")
        for layer in range(depth):
            values = [layers[layer] for layers in by_layer]
            colour = CYCLE[layer % len(CYCLE)]
            name = f"layer {layer + 1} alone"
            accuracy.plot(numbers, values, color=colour, linestyle="--", label=name)
        accuracy.set(title="Test accuracy, %", xlabel="Epoch")
        if depth:
            accuracy.legend()
        for axes in (loss, accuracy):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.savefig(path, format="png", dpi=150, facecolor="white")
