"""Does the activity term make the loss smoother (appendix D of the paper)? Seeds and widths.

A ReLU network is trained twice from the same weights, with the term and without, and the losses of
its updates are compared: sudden rises over the median of the updates before, counted relative to
that median ("spikes") and measured as they are ("largest_rise", "mean_rise"). The two rules differ
where losses are small: there a spike is often no more than the chance of a batch. A second call
with the same ``--out`` goes on where the first one was stopped.

    SFFA_DATA_DIR=… python benchmarks/stability.py [--seeds 5] [--widths 400 1400] [--lr 1e-3]
                                                    [--out results/stability.csv]
                                                    [--figure results/figures/stability.svg]
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from sffa.analysis.stability import Trace, compare
from sffa.data import load
from sffa.files import write_text
from sffa.report.drawing import finish, table
from sffa.report.style import styled
from sffa.study.statistics import paired
from sffa.study.threads import limit

PLACE = ("dataset", "epochs", "lr", "width")
MEASURES = ("spikes", "largest_rise", "mean_rise", "last_loss")
TITLES = {
    "spikes": "Spikes, relative to the median",
    "largest_rise": "Largest rise of the loss",
    "mean_rise": "Mean rise of the loss",
    "last_loss": "Loss in the last epoch",
}
Row = dict[str, Any]


def measures(trace: Trace) -> dict[str, float]:
    """Return what is compared of a trace: spikes of all updates, rises after the first epoch."""
    rises = trace.rises()[trace.updates_per_epoch :]
    found = {
        "spikes": len(trace.spikes()),
        "largest_rise": rises.max(initial=0),
        "mean_rise": rises.clip(min=0).mean(),
        "last_loss": trace.loss[-trace.updates_per_epoch :].mean(),
    }
    return {name: round(float(value), 5) for name, value in found.items()}


def measure(given: argparse.Namespace, width: int, seed: int) -> list[Row]:
    """Train both networks and return a row for each."""
    data = load(given.dataset)
    traces = compare(
        data.train.flat,
        data.train.y,
        data.classes,
        mean=data.mean,
        std=data.std,
        hidden=(width, width),
        epochs=given.epochs,
        lr=given.lr,
        seed=seed,
    )
    place = {"dataset": given.dataset, "epochs": given.epochs, "lr": given.lr}
    return [
        {**place, "width": width, "seed": seed, "term": name, **measures(trace)}
        for name, trace in traces.items()
    ]


def known(path: Path) -> list[Row]:
    """Return the rows of an earlier call."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def show(rows: list[Row]) -> None:
    """Print the paired difference that the term makes, over the seeds of each width."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(str(row[name]) for name in PLACE), []).append(row)
    for place, here in groups.items():
        where = ", ".join(f"{name} {value}" for name, value in zip(PLACE, place, strict=True))
        for name in MEASURES:
            by_term: dict[str, dict[int, float]] = {"with": {}, "without": {}}
            for row in here:
                by_term[row["term"]][int(row["seed"])] = float(row[name])
            means = [sum(found.values()) / len(found) for found in by_term.values()]
            text = f"{where}, {name}: with {means[0]:.4g}, without {means[1]:.4g}"
            apart = paired(by_term["with"], by_term["without"])
            between = None if apart is None else apart.interval()
            if apart is not None and between is not None:
                text += f", difference {apart.mean:+.4g} [{between[0]:+.4g}, {between[1]:+.4g}]"
            print(text)


def draw(rows: list[Row], path: Path) -> None:
    """Draw each measure of one dataset without the term and with it, a line for each seed."""
    from matplotlib.figure import Figure

    widths = sorted({int(row["width"]) for row in rows})
    with styled():
        figure = Figure(figsize=(9.6, 2.8))
        for axes, (name, title) in zip(
            figure.subplots(1, len(TITLES)), TITLES.items(), strict=True
        ):
            for number, width in enumerate(widths):
                here = [row for row in rows if int(row["width"]) == width]
                for seed in sorted({int(row["seed"]) for row in here}):
                    by_term = {r["term"]: float(r[name]) for r in here if int(r["seed"]) == seed}
                    places = 3 * number, 3 * number + 1
                    pair = by_term["without"], by_term["with"]
                    axes.plot(places, pair, color=f"C{number}", marker="o", markersize=3)
            ticks = [3 * n + term for n in range(len(widths)) for term in (0, 1)]
            labels = [f"{term}\n{width}" for width in widths for term in ("without", "with")]
            axes.set_xticks(ticks, labels, fontsize=6)
            axes.set_title(title, fontsize=8)
            axes.set_ylim(0, None)
        drawing = finish(
            "stability",
            "The loss without and with the activity term",
            "A line is a seed; below, the width of both layers. "
            f"ReLU networks, {rows[0]['epochs']} epochs of {rows[0]['dataset']}; rises count after "
            "the first of them.",
            figure,
            rows,
        )
    write_text(path, drawing.svg)


def main() -> None:
    """Measure what is missing, write after every pair, print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--widths", type=int, nargs="+", default=[400, 1400])
    parser.add_argument("--epochs", type=int, default=26)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--out", type=Path, default=Path("results/stability.csv"))
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    if given.epochs < 2:
        parser.error("rises count after the first epoch: --epochs 2 or more")
    limit(1)
    rows = known(given.out)
    place = (given.dataset, given.epochs, given.lr)
    done = {
        (r["dataset"], int(r["epochs"]), float(r["lr"]), int(r["width"]), int(r["seed"]))
        for r in rows
    }
    for width in given.widths:
        for seed in range(given.seeds):
            if (*place, width, seed) not in done:
                rows += measure(given, width, seed)
                write_text(given.out, table(rows))
                print(*rows[-2:], sep="\n", flush=True)
    show(rows)
    if given.figure:
        asked = [
            row
            for row in rows
            if (row["dataset"], *map(float, (row["epochs"], row["lr"]))) == place
        ]
        draw(asked, given.figure)


if __name__ == "__main__":
    main()
