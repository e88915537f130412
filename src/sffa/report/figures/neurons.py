"""Usage of neurons: the first layer as a picture (appendix C), and which classes they serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sffa.analysis.usage import Usage, as_map
from sffa.report.drawing import Drawing, finish
from sffa.report.style import CYCLE, short_name, styled


def usage(found: Mapping[str, Sequence[Usage]], dataset: str = "") -> Drawing:
    """Draw the summed activity of the first layer's neurons, one picture for each network."""
    from matplotlib.figure import Figure

    where = f" on {short_name(dataset)}" if dataset else ""
    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(max(4.0, 3.5 * len(found)), 2.7))
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, (name, layers) in zip(panels, found.items(), strict=True):
            first = layers[0]
            top = float(first.activity.max()) or 1.0
            picture = as_map(first.activity / top)
            image = axes.imshow(picture, vmin=0, vmax=1, interpolation="nearest")
            busy = first.concentration()
            axes.set_title(short_name(name))
            axes.set_xlabel(f"{busy} of {len(first.activity)} neurons hold 90 %")
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            rows += [
                {"name": name, "neuron": n, "activity": a, "dead": bool(d), "idle": bool(i)}
                for n, (a, d, i) in enumerate(
                    zip(first.activity.tolist(), first.dead, first.idle, strict=True)
                )
            ]
        bar = figure.colorbar(image, ax=panels, shrink=0.85, ticks=[0, 0.5, 1])
        bar.set_label("Activity / largest")
        bar.outline.set_linewidth(0.6)
        return finish(
            f"neuron-usage{'-' + dataset if dataset else ''}",
            f"Usage of the first layer{where}",
            "Activity of each neuron summed over the examples with their right labels, arranged "
            "as a picture; dark neurons take little part. In SFFA the upper half of the picture "
            "is the positive neurons.",
            figure,
            rows,
        )


def specialisation(found: Mapping[str, Sequence[Usage]], dataset: str = "") -> Drawing:
    """Draw how much of their activity neurons give to one class, layer by layer."""
    from matplotlib.figure import Figure

    where = f" on {short_name(dataset)}" if dataset else ""
    edges = np.linspace(0, 1, 21)
    rows: list[dict[str, object]] = []
    with styled():
        figure = Figure(figsize=(max(3.6, 3.4 * len(found)), 3.0))
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, (name, layers) in zip(panels, found.items(), strict=True):
            for number, layer in enumerate(layers):
                used = layer.activity > 0
                amount, _ = np.histogram(layer.specialisation[used], bins=edges)
                unused = int(layer.idle.sum())
                look = {"color": CYCLE[number % len(CYCLE)], "linewidth": 1.5}
                dash = ("-", "--", ":", "-.")[number % 4]
                label = f"layer {number + 1} ({unused} idle)"
                axes.stairs(amount, edges, label=label, linestyle=dash, **look)
                rows += [
                    {"name": name, "layer": number + 1, "from": low, "to": high, "neurons": int(m)}
                    for low, high, m in zip(
                        edges[:-1].tolist(), edges[1:].tolist(), amount, strict=True
                    )
                ]
            axes.set_title(short_name(name))
            axes.set_ylim(top=axes.get_ylim()[1] * 1.2)
            axes.legend(loc="upper right")
        panels[0].set_ylabel("Neurons")
        figure.supxlabel("Specialisation: 0 all classes alike, 1 one class only", fontsize=9)
        return finish(
            f"specialisation{'-' + dataset if dataset else ''}",
            f"Class specialisation of neurons{where}",
            "How much of a neuron's activity, over examples with their right label, goes to the "
            "class it prefers. Idle neurons never hold more than 1 % of a latent's activity, "
            "whatever the label.",
            figure,
            rows,
        )
