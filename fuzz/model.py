"""Model files: damaged bytes, and changed headers and tensors with a checksum that fits."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import torch

from fuzz.mutate import LARGE, damaged, odd
from fuzz.surface import Surface
from sffa import Backprop, Network, Trainer, kernels
from sffa.cli.notes import notes_of
from sffa.core import load, storage
from sffa.errors import ModelFileError

_KINDS = (torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool)


@cache
def _sound(number: int) -> tuple[dict[str, Any], dict[str, torch.Tensor], bytes]:
    """Return header, tensors and bytes of a sound file: two networks, one with tasks."""
    net: Any = Network(6, hidden=(20, 20), k=3, classes=range(3), backend="torch")
    if number == 1:
        net = Network(6, hidden=(24,), k=2, codes="onehot", gate="disjoint", classes=range(3))
    if number == 2:
        net = Backprop(6, hidden=(8,))
        net.add_classes([0, 1], 0)
        net.add_classes([2], 1)
    trainer = Trainer(net)
    trainer.step(torch.ones(2, 6), torch.tensor([0, 1]), 0 if number == 2 else None)
    epoch = {"number": 1, "loss": 1.0, "seconds": 1.0, "accuracy": {"test": 5.0}}
    notes = {"dataset": "digits", "shape": [6], "class_names": ["a", "b", "c"], "history": [epoch]}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        trainer.save(path, notes)
        header, tensors = storage.read(path)
        return header.model_dump(), tensors, path.read_bytes()


def changed(rng: Random, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return tensors of which one has another shape, type or name, or values, or is gone."""
    found, name = dict(tensors), rng.choice(sorted(tensors))
    value = found.pop(name)
    what = rng.randrange(6)
    if what == 0:
        sizes = [rng.choice((0, 1, 2, 7, 1000)) for _ in range(rng.randrange(4))]
        value = torch.zeros(sizes)
    elif what == 1:
        value = value.to(rng.choice(_KINDS))
    elif what == 2:
        value = value * float(rng.choice(("nan", "inf", "1e38", "-1")))
    elif what == 3:
        name = rng.choice((f"{name}.x", "adam", "extra.a", "heads.a.b.bias", "x"))
    elif what == 4:
        return found
    else:
        value = value.reshape(-1)
    return {**found, name: value}


def rewritten(rng: Random, path: Path, header: Any, tensors: dict[str, torch.Tensor]) -> None:
    """Write a file with a changed header or tensors, and the checksum that goes with them."""
    if rng.random() < 0.8:
        part = rng.choice(("trainer", "config", "notes", "classes", "tasks", None, None))
        header = copy.deepcopy(header)
        if part is None or not header.get(part):
            header = odd(rng, header)
        else:
            header[part] = odd(rng, header[part])
        if rng.random() < 0.1 and isinstance(header.get("config"), dict):
            header["config"]["hidden"] = [rng.choice((20, 10**5, *LARGE)) for _ in range(2)]
    if rng.random() < 0.4:
        tensors = changed(rng, tensors)
    storage.write(path, header if isinstance(header, dict) else {"kind": header}, tensors)


def make(rng: Random, folder: Path) -> Path:
    """Write a model file that is damaged, or sound in form and changed in content."""
    header, tensors, content = _sound(rng.randrange(3))
    path = folder / "m.safetensors"
    if rng.random() < 0.3:
        path.write_bytes(damaged(rng, content))
        return path
    try:
        rewritten(rng, path, header, tensors)
    except (ValueError, TypeError, RuntimeError):  # what cannot even be written
        path.write_bytes(damaged(rng, content))
    return path


def read(path: Path) -> None:
    """Read learner, trainer and notes, and use them: predict, and learn one batch."""
    learner = load(path)
    notes = notes_of(path)
    notes.names_for(learner)
    notes.shape_for(learner)
    x = torch.ones(2, learner.inputs)
    for task in (None, *learner.tasks):
        if learner.classes and (task is not None or not learner.tasks):
            learner.predict(x, task)
    try:
        trainer = Trainer.load(path)
    except ModelFileError:
        return
    for task, columns in (learner.tasks or {None: [0]}).items():
        if learner.classes:
            y = torch.full((2,), learner.classes[columns[0]])
            trainer.step(x, y, task)


SURFACE = Surface(make, read, kernels.warm_up)
