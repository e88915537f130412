"""Looks into networks: each gives drawings, and rows of the numbers that are worth printing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sffa.analysis import (
    accuracy_by_layer,
    calibration_of,
    compare,
    memory_of,
    separation,
    sparsity_of,
    usage_of,
)
from sffa.analysis.dynamics import ALPHA, CASES, descend, direction, simulate
from sffa.analysis.ood import SCORES, familiarities
from sffa.core import Network
from sffa.core.seeds import generator
from sffa.data import Dataset
from sffa.report import figures
from sffa.report.drawing import Drawing
from sffa.study.paper import published_hoyer

Rows = list[dict[str, Any]]
Look = tuple[list[Drawing], Rows]


@dataclass(frozen=True)
class Subjects:
    """The networks to look into, by name, and the examples to show them."""

    networks: dict[str, Network]
    data: Dataset
    x: Any
    y: Any
    seed: int


def surfaces() -> Look:
    """Draw the probability functions of FFA and SFFA."""
    return [figures.surfaces()], []


def dynamics() -> Look:
    """Simulate the paper's two cases, and how far autograd is from the closed forms."""
    rows = []
    for case, start in CASES.items():
        closed, auto = simulate(*start), descend(*start, activation="identity")
        gap = max(
            abs(closed.positive - auto.positive).max(), abs(closed.negative - auto.negative).max()
        )
        end = float(closed.positive[-1]), float(closed.negative[-1])
        row: dict[str, Any] = {
            "case": case,
            "start": str(start),
            "end": f"({end[0]:.4f}, {end[1]:.4f})",
        }
        row |= {"goodness": float(closed.goodness[-1]), "direction": direction(*end, ALPHA)}
        rows.append({**row, "closed form − autograd": float(gap)})
    return [figures.dynamics()], rows


def memory(data: Dataset, samples: int, seed: int, options: Mapping[str, Any]) -> Look:
    """Draw what the strategy gaussian keeps of each class."""
    found, megabytes = memory_of(data, samples=samples, seed=seed, **options)
    drawing = figures.memory(found, data.shape, data.class_names, data.name, megabytes)
    rows = [
        {
            "class": data.class_names[each.label],
            "parts": len(each.means),
            "mean, real": float(each.examples.mean()),
            "mean, drawn": float(each.drawn.mean()),
        }
        for each in found
    ]
    return [drawing], [*rows, {"class": "all, MB", "parts": round(megabytes, 3)}]


def sparsity(subjects: Subjects) -> Look:
    """Measure Hoyer scores and active neurons, beside the paper's scores."""
    found = {}
    rows: Rows = []
    for name, network in subjects.networks.items():
        rng = generator(subjects.seed, "negative inputs")
        found[name] = sparsity_of(network, subjects.x, subjects.y, rng)
        paper = published_hoyer(subjects.data.name, network.config.algorithm)
        for sign, score in found[name].mean_hoyer().items():
            row = {"network": name, "input": sign, "hoyer": score}
            row["paper"] = paper.get(sign)
            by_layer = found[name].hoyer[sign].mean(axis=1)
            row |= {f"layer {n}": float(value) for n, value in enumerate(by_layer, start=1)}
            row["active neurons"] = float(found[name].active[sign].mean())
            rows.append(row)
    return [figures.sparsity(found, subjects.data.name)], rows


def usage(subjects: Subjects) -> Look:
    """Follow each neuron: its activity, its class, whether it takes part."""
    found = {n: usage_of(net, subjects.x, subjects.y) for n, net in subjects.networks.items()}
    rows = [
        {
            "network": name,
            "layer": number,
            "neurons": len(layer.activity),
            "hold 90 %": layer.concentration(),
            "dead": int(layer.dead.sum()),
            "idle": int(layer.idle.sum()),
            "saturated": int(layer.saturated.sum()),
            "specialisation": float(layer.specialisation[layer.activity > 0].mean()),
        }
        for name, found_layers in found.items()
        for number, layer in enumerate(found_layers, start=1)
    ]
    name = subjects.data.name
    return [figures.usage(found, name), figures.specialisation(found, name)], rows


def layers(subjects: Subjects) -> Rows:
    """Return the accuracy of each layer alone, and of the first layers together."""
    rows = []
    for name, network in subjects.networks.items():
        found = accuracy_by_layer(network, subjects.x, subjects.y)
        for number, (alone, upto) in enumerate(zip(found.alone, found.upto, strict=True), start=1):
            rows.append({"network": name, "layer": number, "alone, %": alone, "up to it, %": upto})
    return rows


def calibration(subjects: Subjects) -> Look:
    """Compare the goodness, as a probability, with how often it is right."""
    found = {n: calibration_of(net, subjects.x, subjects.y) for n, net in subjects.networks.items()}
    rows = [
        {
            "network": name,
            "error of pairs, %": 100 * result.pairs.error,
            "error of predictions, %": 100 * result.predicted.error,
        }
        for name, result in found.items()
    ]
    return [figures.calibration(found, subjects.data.name)], rows


def ood(subjects: Subjects, foreign: Mapping[str, Any]) -> Look:
    """Separate foreign inputs, by name as in ``foreign``, from familiar ones by each score."""
    drawn, rows = [], []
    for name, network in subjects.networks.items():
        own = familiarities(network, subjects.x)
        others = {other: familiarities(network, x) for other, x in foreign.items()}
        scores = {other: found["goodness"] for other, found in others.items()}
        drawn.append(figures.ood(name, (subjects.data.name, own["goodness"]), scores))
        for score in SCORES:
            for other, found in others.items():
                parted = separation(own[score], found[score])
                row = {"network": name, "score": score, "against": other}
                rows.append({**row, "auroc": parted.auroc, "fpr95, %": 100 * parted.fpr95})
    return drawn, rows


def stability(
    data: Dataset,
    epochs: int,
    hidden: tuple[int, ...],
    lr: float,
    seed: int,
    on_epoch: Callable[[int, float], object],
) -> Look:
    """Train a ReLU network with and without the activity term and compare the loss."""
    traces = compare(
        data.train.flat,
        data.train.y,
        data.classes,
        mean=data.mean,
        std=data.std,
        hidden=hidden,
        epochs=epochs,
        lr=lr,
        seed=seed,
        on_epoch=on_epoch,
    )
    rows = [
        {
            "activity term": name,
            "updates": len(trace.loss),
            "last epoch's loss": float(trace.loss[-trace.updates_per_epoch :].mean()),
            "largest after epoch 1": float(trace.loss[trace.updates_per_epoch :].max(initial=0)),
            "largest rise": float(trace.rises()[trace.updates_per_epoch :].max(initial=0)),
            "spikes": len(trace.spikes()),
        }
        for name, trace in traces.items()
    ]
    return [figures.stability(traces, data.name)], rows
