"""The loss along the updates of a ReLU network, without and with the activity term (appendix D)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sffa.analysis.stability import SPIKE, WINDOW, Trace
from sffa.report.drawing import Drawing, finish
from sffa.report.style import styled
from sffa.vocabulary import BLUE, VERMILION

TITLES = {"without": "No activity term", "with": "With the activity term"}
COLOURS = {"without": VERMILION, "with": BLUE}


def stability(traces: Mapping[str, Trace], dataset: str = "") -> Drawing:
    """Draw the cross-entropy of every update, on the same scale."""
    from matplotlib.figure import Figure

    rows: list[dict[str, object]] = []
    top = max(float(np.quantile(trace.loss, 0.999)) for trace in traces.values())
    top = max(
        [top, *(float(t.loss[t.updates_per_epoch :].max(initial=0)) for t in traces.values())]
    )
    with styled():
        figure = Figure(figsize=(7.2, 3.0))
        panels = figure.subplots(1, len(traces), sharey=True, squeeze=False)[0]
        for axes, (name, trace) in zip(panels, traces.items(), strict=True):
            spikes = trace.spikes()
            rise = trace.rises()[trace.updates_per_epoch :].max(initial=0)
            axes.plot(trace.loss, color=COLOURS.get(name, BLUE), linewidth=0.7, rasterized=False)
            axes.plot(
                spikes,
                np.full(len(spikes), top * 1.04),
                marker="v",
                linestyle="none",
                markersize=3,
                color=COLOURS.get(name, BLUE),
            )
            epochs = len(trace.loss) // max(trace.updates_per_epoch, 1)
            axes.set(
                title=TITLES.get(name, name),
                xlabel=f"Update ({epochs} epochs)",
                ylim=(0, top * 1.1),
            )
            note = f"{len(spikes)} spikes\nlargest rise {rise:.2f}"
            axes.text(0.97, 0.8, note, transform=axes.transAxes, ha="right", va="top", fontsize=8)
            rows += [
                {"network": name, "update": n, "loss": loss, "activity": activity}
                for n, (loss, activity) in enumerate(
                    zip(trace.loss.tolist(), trace.activity.tolist(), strict=True), start=1
                )
            ]
        panels[0].set_ylabel("Cross-entropy, both layers")
        return finish(
            f"loss-stability{'-' + dataset if dataset else ''}",
            "Loss with and without the activity term",
            "Cross-entropy of each update of a ReLU network, the term itself not counted. A spike "
            f"(triangle) is a loss above {SPIKE:g} times the median of the {WINDOW} updates "
            "before it, a rise is its distance from that median, after the first epoch.",
            figure,
            rows,
        )
