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

_METHODS = (
    *("naive", "ewc", "si", "replay", "gem", "lwf", "derpp", "gaussian", "replay+ewc"),
    *("masking", "projection"),
)


class _Stop(Callback):
    def on_batch_end(self, progress: Any) -> bool:
        return bool(progress.step == 4)


@cache
def _data() -> Dataset:
    x = np.random.default_rng(0).random((24, 5))
    return from_arrays(x, np.arange(24) % 4, x, np.arange(24) % 4, name="toy")


@cache
def _config(method: str, scenario: str) -> ContinualConfig:
    small = {"dataset": "toy", "hidden": (8,), "experiences": 2, "batch_size": 4, "epochs": 1}
    return ContinualConfig(algorithm="bp", method=method, scenario=scenario, **small)


@cache
def _sound(method: str, scenario: str) -> tuple[Any, Any, bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.safetensors"
        with contextlib.suppress(Stopped):
            run(_config(method, scenario), _data(), checkpoint=path, callbacks=[_Stop()])
        header, tensors = storage.read(path)
        return header.model_dump(), tensors, path.read_bytes()


def make(rng: Random, folder: Path) -> tuple[str, str, Path]:
    """Write a checkpoint that is damaged, or changed in its notes or tensors."""
    method, scenario = rng.choice(_METHODS), rng.choice(("class", "task"))
    header, tensors, content = _sound(method, scenario)
    path = folder / "c.safetensors"
    what = rng.random()
    try:
        if what < 0.4:
            header = {**header, "notes": odd(rng, header["notes"])}
            storage.write(path, header, changed(rng, tensors) if rng.random() < 0.2 else tensors)
        elif what < 0.6:
            rewritten(rng, path, header, tensors)
        elif what < 0.8:
            storage.write(path, header, _other_state(rng, tensors))
    except (ValueError, TypeError, RuntimeError):
        pass
    if not path.exists():
        path.write_bytes(damaged(rng, content))
    return method, scenario, path


def _other_state(rng: Random, tensors: dict[str, Any]) -> dict[str, Any]:
    """Return tensors of which one to three that a strategy keeps are others."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        kept = {n: t for n, t in tensors.items() if "buffers." in n or "parameter_state." in n}
        rest = {n: t for n, t in tensors.items() if n not in kept}
        if not kept:
            break
        tensors = {**rest, **changed(rng, kept)}
    return tensors


def read(case: tuple[str, str, Path]) -> None:
    """Take the run up again, and learn to its end."""
    method, scenario, path = case
    going = ContinualRun(_config(method, scenario), _data(), checkpoint=path)
    while going.state.experience < len(going.stream):
        going.learn(going.stream[going.state.experience])
    assert len(going.result.rows[-1]) == 2


SURFACE = Surface(make, read)
