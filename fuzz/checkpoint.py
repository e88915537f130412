"""Checkpoints of continual runs: positions, results and strategies that do not go together."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fuzz.model import changed, rewritten
from fuzz.mutate import damaged, odd
from fuzz.surface import Surface
from sffa.continual import ContinualConfig, ContinualRun, Stopped, run
from sffa.core import Callback, storage
from sffa.data import Dataset, from_arrays

_METHODS = ("ewc", "replay", "naive")


class _Stop(Callback):
    def on_batch_end(self, progress: Any) -> bool:
        return bool(progress.step == 4)


@cache
def _data() -> Dataset:
    x = np.random.default_rng(0).random((24, 5))
    return from_arrays(x, np.arange(24) % 4, x, np.arange(24) % 4, name="toy")


@cache
def _config(method: str) -> ContinualConfig:
    small = {"dataset": "toy", "hidden": (8,), "experiences": 2, "batch_size": 4, "epochs": 1}
    return ContinualConfig(algorithm="bp", method=method, **small)


@cache
def _sound(method: str) -> tuple[Any, Any, bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.safetensors"
        with contextlib.suppress(Stopped):
            run(_config(method), _data(), checkpoint=path, callbacks=[_Stop()])
        header, tensors = storage.read(path)
        return header.model_dump(), tensors, path.read_bytes()


def make(rng: Random, folder: Path) -> tuple[str, Path]:
    """Write a checkpoint that is damaged, or changed in its notes or tensors."""
    method = rng.choice(_METHODS)
    header, tensors, content = _sound(method)
    path = folder / "c.safetensors"
    try:
        if rng.random() < 0.6:
            header = {**header, "notes": odd(rng, header["notes"])}
            storage.write(path, header, changed(rng, tensors) if rng.random() < 0.2 else tensors)
        elif rng.random() < 0.5:
            rewritten(rng, path, header, tensors)
    except (ValueError, TypeError, RuntimeError):
        pass
    if not path.exists():
        path.write_bytes(damaged(rng, content))
    return method, path


def read(case: tuple[str, Path]) -> None:
    """Take the run up again, evaluate, and make its record."""
    method, path = case
    going = ContinualRun(_config(method), _data(), checkpoint=path)
    going.evaluate()
    assert len(going.result.rows[-1]) == 2


SURFACE = Surface(make, read)
