"""``sffa predict``: what a model file sees in images, arrays or tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sffa.cli.notes import Notes, notes_of
from sffa.cli.options import AsJson, Device, Threads, use_device, use_threads
from sffa.cli.text import plain
from sffa.core import Backprop, Network, load
from sffa.data import read_images, table_features
from sffa.data.image_folder import image_files
from sffa.data.npy import read_arrays
from sffa.data.table_files import SUFFIXES
from sffa.errors import DataError


def predict(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Images, folders of images, .npy or .npz arrays, tables.", show_default=False
        ),
    ],
    threads: Threads = None,
    device: Device = "cpu",
    as_json: AsJson = False,
) -> None:
    """Name the class of each input, with the goodness that each layer gives it."""
    use_threads(threads)
    notes = notes_of(model)
    learner = load(model, use_device(device))
    class_names = notes.names_for(learner)
    names, x = _examples(inputs, notes.shape_for(learner), notes)
    results = _judge(learner, names, x, class_names)
    if as_json:
        print(json.dumps(results))
        return
    table = Table("input", "class", "score", "by layer", box=SIMPLE_HEAD)
    for result in results:
        by_layer = " ".join(f"{value:.4f}" for value in result.get("layers", []))
        name, label = plain(result["input"]), plain(result["class"])
        table.add_row(name, label, f"{result['score']:.4f}", by_layer)
    Console().print(table)


def _judge(
    learner: Network | Backprop,
    names: list[str],
    x: np.ndarray[Any, Any],
    class_names: list[str] | None,
) -> list[dict[str, Any]]:
    """Return each input's class, its score, and the score of each layer."""
    labels = learner.predict(x)
    scores = learner.scores(x)
    results: list[dict[str, Any]] = []
    for row, name in enumerate(names):
        label = int(labels[row])
        column = learner.classes.index(label)
        results.append(
            {
                "input": name,
                "class": class_names[label] if class_names else label,
                "score": float(scores[row, column]),
            }
        )
        if isinstance(learner, Network):
            with torch.no_grad():
                layers = learner.layer_scores(x[row : row + 1])[:, 0, column]
            results[-1]["layers"] = layers.tolist()
    return results


def _examples(
    paths: list[Path], shape: tuple[int, ...], notes: Notes
) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Read every input as examples of the model's shape, and name each."""
    names: list[str] = []
    parts: list[np.ndarray[Any, Any]] = []
    for path in paths:
        if path.suffix in (".npy", ".npz"):
            for key, array in _arrays(path):
                rows = _fitting(array, shape, f"{path}", notes.whole_pixels)
                names += [f"{path.name}{key}[{row}]" for row in range(len(rows))]
                parts.append(rows)
        elif path.suffix.lower() in SUFFIXES:
            if not notes.columns:
                raise DataError(f"{path}: the model was not trained on a table with named columns")
            rows = _fitting(table_features(path, notes.columns), shape, f"{path}")
            names += [f"{path.name}[{row}]" for row in range(len(rows))]
            parts.append(rows)
        else:
            for file in image_files(path):
                pixels = read_images([file], gray=len(shape) < 3)
                parts.append(_fitting(pixels, shape, str(file)))
                names.append(str(file))
    if len({part.dtype for part in parts}) > 1:
        parts = [p.astype(np.float32) / 255 if p.dtype == np.uint8 else p for p in parts]
    return names, np.concatenate(parts)


def _arrays(path: Path) -> list[tuple[str, np.ndarray[Any, Any]]]:
    found = read_arrays(path, lambda key: key.startswith("x"))
    return [(f":{key}" if key else "", array) for key, array in found.items()]


def _fitting(
    array: np.ndarray[Any, Any], shape: tuple[int, ...], name: str, whole_pixels: bool = False
) -> np.ndarray[Any, Any]:
    """Return the array as (examples, features); a single example may come without its axis.

    Where the model learned ``whole_pixels``, whole numbers of any type are pixels of 0 to 255.
    """
    size = int(np.prod(shape))
    if array.shape == shape:
        array = array[None]
    flat = len(shape) == 1 and array.ndim > 1 and int(np.prod(array.shape[1:])) == size
    if array.ndim < 2 or (array.shape[1:] not in (shape, (size,)) and not flat):
        raise DataError(
            f"{name}: expected {' x '.join(map(str, shape))} numbers an example, got "
            f"{' x '.join(map(str, array.shape[1:] if array.ndim > 1 else array.shape))}"
        )
    if array.dtype.kind in "iu" and whole_pixels:
        if array.min(initial=0) < 0 or array.max(initial=0) > 255:
            raise DataError(f"{name}: pixels must be 0 to 255")
        array = array.astype(np.uint8)
    if array.dtype != np.uint8:
        if not np.issubdtype(array.dtype, np.number) or not np.isfinite(array).all():
            raise DataError(f"{name}: values must be finite numbers")
        array = array.astype(np.float32)
    return array.reshape(len(array), -1)
