"""Familiar against foreign inputs, by their goodness: distributions and ROC curves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sffa.analysis.ood import separation
from sffa.report.drawing import Drawing, finish
from sffa.report.style import CYCLE, short_name, styled
from sffa.vocabulary import INK

Floats = NDArray[np.float64]
DASHES = ("-", "--", ":", "-.")


def ood(name: str, familiar: tuple[str, Floats], foreign: Mapping[str, Floats]) -> Drawing:
    """Draw the scores of one network's own dataset beside those of others, and how they part."""
    from matplotlib.figure import Figure

    own, scores = familiar
    rows: list[dict[str, object]] = []
    everything = np.concatenate([scores, *foreign.values()])
    edges = np.histogram_bin_edges(everything, bins=40)
    with styled():
        figure = Figure(figsize=(7.2, 3.5))
        left, right = figure.subplots(1, 2)
        for number, (label, values) in enumerate({own: scores, **foreign}.items()):
            density, _ = np.histogram(values, bins=edges)
            share = density / max(len(values), 1)
            colour, dash = CYCLE[number % len(CYCLE)], DASHES[number % len(DASHES)]
            left.stairs(
                share, edges, color=colour, linestyle=dash, label=short_name(label), linewidth=1.5
            )
            rows += [
                {"inputs": label, "from": low, "to": high, "share": part}
                for low, high, part in zip(
                    edges[:-1].tolist(), edges[1:].tolist(), share.tolist(), strict=True
                )
            ]
            if number:
                found = separation(scores, values)
                note = (
                    f"{short_name(label)}: AUROC {found.auroc:.3f}, FPR95 {100 * found.fpr95:.0f} %"
                )
                right.plot(found.fpr, found.tpr, color=colour, linestyle=dash, label=note)
        right.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
        left.set(title="Goodness of the best label", xlabel="Score", ylabel="Share of inputs")
        right.set(
            title="Told apart", xlabel="Foreign accepted", ylabel=f"{short_name(own)} accepted"
        )
        right.set(xlim=(0, 1), ylim=(0, 1.02))
        first = left.get_legend_handles_labels()
        others = right.get_legend_handles_labels()
        handles, labels = [*first[0][:1], *others[0]], [*first[1][:1], *others[1]]
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 3))
        return finish(
            f"out-of-distribution-{name}",
            f"Goodness as a sign of foreign inputs: {short_name(name)}",
            f"A network trained on {short_name(own)} judges inputs it was not made for. AUROC 0.5 "
            "is chance, less is worse than chance; FPR95 is the share of foreign inputs accepted "
            "where 95 % of the familiar ones are.",
            figure,
            rows,
        )
