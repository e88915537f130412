"""``sffa evaluate``: how well a model file does on a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sffa.cli.models import check_fits, trained_on
from sffa.cli.notes import notes_of
from sffa.cli.options import AsJson, DataDir, Device, Threads, use_device, use_threads
from sffa.cli.text import plain
from sffa.core import accuracy, load
from sffa.data import load as load_data
from sffa.errors import ConfigurationError


def evaluate(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", help="Dataset.", show_default="the one it was trained on"),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="test or train.")] = "test",
    threads: Threads = None,
    device: Device = "cpu",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Print the accuracy of a model: in all, by layer and by class."""
    if split not in ("test", "train"):
        raise ConfigurationError(f"--split is test or train, got '{split}'")
    use_threads(threads)
    notes = notes_of(model)
    learner = load(model, use_device(device))
    name = dataset or trained_on(model, notes)
    if name is None:
        raise ConfigurationError(f"{model} does not say what it was trained on; give --dataset")
    data = load_data(name, data_dir=data_dir)
    check_fits(learner, data, notes)
    part = data.test if split == "test" else data.train
    total, layers = accuracy(learner, part.flat, part.y)
    predicted = learner.predict(part.flat)
    by_class = {
        data.class_names[label]: 100 * float((predicted[part.y == label] == label).mean())
        for label in range(data.classes)
        if (part.y == label).any()
    }
    if as_json:
        result = {
            "model": str(model),
            "dataset": data.name,
            "split": split,
            "examples": len(part),
            "accuracy": total,
            "layers": layers,
            "classes": by_class,
        }
        print(json.dumps(result))
        return
    table = Table("what", "accuracy", box=SIMPLE_HEAD)
    about = plain(f"{data.name}, {split} ({len(part):,} examples)")
    table.add_row(about, f"{total:.2f} %")
    for number, value in enumerate(layers, start=1):
        table.add_row(f"layer {number} alone", f"{value:.2f} %")
    for label, value in by_class.items():
        table.add_row(plain(f"class {label}"), f"{value:.2f} %")
    Console().print(table)
