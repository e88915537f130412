"""What a model file says of its data, and whether it can be written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from sffa.cli.notes import Notes
from sffa.core import Learner
from sffa.data import Dataset, names
from sffa.errors import ConfigurationError
from sffa.files import check_writable


def about(dataset: str, algorithm: str, data: Dataset, model: Path) -> dict[str, Any]:
    """Return the notes that a model file keeps of its data."""
    return {
        "dataset": data.name,
        "source": source_of(dataset, model),
        "algorithm": algorithm,
        "shape": list(data.shape),
        "class_names": list(data.class_names),
        "whole_pixels": data.train.x.dtype == np.uint8,
        **({"columns": data.columns} if data.columns else {}),
    }


def source_of(dataset: str, model: Path) -> str:
    """Return what a model file calls its data: a known name, or a path from the file's folder."""
    name = dataset.removeprefix("split-")
    if name in names():
        return name
    return f"./{os.path.relpath(dataset, model.parent)}"  # never mistaken for a name


def trained_on(model: Path, notes: Notes) -> str | None:
    """Return the dataset that a model file names: a known name, or a path as seen from here."""
    source = notes.source or notes.dataset
    if source is None:
        return None
    return str(model.parent / source) if source.startswith("./") else source


def probe_writable(path: Path) -> None:
    """Find out before hours of training that a file cannot be written there."""
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; give the name of a file")
    check_writable(path)


def check_fits(learner: Learner, data: Dataset, notes: Notes | None = None) -> None:
    """Refuse a dataset whose examples or classes the model cannot take."""
    if notes is not None and notes.columns and data.columns and notes.columns != data.columns:
        raise ConfigurationError(
            f"the columns of {data.name}, or their categories, are not those of the model's table"
        )
    if data.features != learner.inputs:
        raise ConfigurationError(
            f"the model takes {learner.inputs} features, {data.name} has {data.features} "
            f"(shape {data.shape})"
        )
    unknown = set(range(data.classes)) - set(learner.classes)
    if unknown:
        raise ConfigurationError(
            f"{data.name} has {data.classes} classes, the model knows {len(learner.classes)}"
        )
