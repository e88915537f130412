"""`sffa.lite` beside the whole library: the same predictions, the same steps, memory and time.

A network trained a little by the library judges MNIST's 10,000 test images in both, and both learn
on; each side runs in a process of its own, whose peak memory is told. ``--lite-python`` names the
Python of an environment that holds NumPy alone. With ``--part float64`` or ``float32``, both take
500 steps from the same weights on the same batches in that precision. ``--part "step by step"``:
each of 500 float32 steps starts from the state of the library.

    python benchmarks/lite.py --lite-python /path/to/bin/python
    python benchmarks/lite.py --part float64
    python benchmarks/lite.py --part "step by step"
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STEPS = "step by step"
DTYPES = ("float64", "float32")
NETWORKS: dict[str, dict[str, Any]] = {
    "sffa": {},
    "sffa contrast, gate 0.3": {"objective": "contrast", "gate": 0.3},
    "ffa": {"algorithm": "ffa"},
}
LITE = """
import json, sys, time
import numpy as np
from sffa import lite

folder, batch = sys.argv[1], int(sys.argv[2])
x, y, test = (np.load(f"{folder}/{name}.npy", mmap_mode="r") for name in ("x", "y", "test"))
"""
LITE_PREDICT = (
    LITE
    + """
net = lite.load(f"{folder}/predict.safetensors")
start = time.perf_counter()
scores = net.scores(test)
seconds = time.perf_counter() - start
"""
)
LITE_LEARN = (
    LITE
    + """
net = lite.load(f"{folder}/learn.safetensors")
start = time.perf_counter()
for first in range(0, len(y), batch):
    net.partial_fit(x[first : first + batch], y[first : first + batch])
seconds = time.perf_counter() - start
net.save(f"{folder}/lite.safetensors")
scores = net.scores(test[:1000])
"""
)
FULL = """
import json, sys, time
import numpy as np
import torch
import sffa

torch.set_num_threads(1)
folder, batch = sys.argv[1], int(sys.argv[2])
x, y, test = (np.load(f"{folder}/{name}.npy") for name in ("x", "y", "test"))
"""
FULL_PREDICT = (
    FULL
    + """
net = sffa.load(f"{folder}/predict.safetensors")
net.scores(test[:600])  # compiles
start = time.perf_counter()
scores = net.scores(test)
seconds = time.perf_counter() - start
"""
)
FULL_LEARN = (
    FULL
    + """
trainer = sffa.Trainer.load(f"{folder}/learn.safetensors")
sffa.Trainer(sffa.Network(784, classes=range(10))).step(x[:batch], y[:batch])  # compiles
start = time.perf_counter()
for first in range(0, len(y), batch):
    trainer.step(x[first : first + batch], y[first : first + batch])
seconds = time.perf_counter() - start
trainer.save(f"{folder}/full.safetensors")
scores = trainer.learner.scores(test[:1000])
"""
)
END = """
np.save(f"{folder}/{sys.argv[3]}.npy", scores)
status = open("/proc/self/status").read()  # not getrusage, which counts the parent's at the fork
peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
print(json.dumps({"seconds": seconds, "peak_mb": peak}))
"""


def prepare(folder: Path, hidden: tuple[int, ...], batch: int, steps: int, **options: Any) -> None:
    """Train a network for one epoch, and write it and the arrays that both sides read."""
    import numpy as np

    import sffa
    from sffa.data import load

    data = load("mnist", download=False)
    net = sffa.Network(784, hidden, classes=range(10), seed=0, **options)
    net.standardise(data.mean, data.std)
    trainer = sffa.Trainer(net, lr=1e-3)
    trainer.fit(data.train.flat[:20_000], data.train.y[:20_000], epochs=1)
    net.save(folder / "predict.safetensors")
    trainer.save(folder / "learn.safetensors")
    later = slice(20_000, 20_000 + batch * steps)
    np.save(folder / "x.npy", data.train.flat[later])
    np.save(folder / "y.npy", data.train.y[later])
    np.save(folder / "test.npy", data.test.flat)
    np.save(folder / "answers.npy", data.test.y)


def run(python: str, code: str, folder: Path, batch: int, name: str) -> dict[str, Any]:
    """Run one side in a process with one thread."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)  # an environment of its own has sffa installed
    done = subprocess.run(
        [python, "-c", code + END, str(folder), str(batch), name],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compare(folder: Path, python: str, batch: int) -> dict[str, Any]:
    """Return what both sides took and how far they are apart."""
    import numpy as np

    found: dict[str, Any] = {
        "predict": {
            "lite": run(python, LITE_PREDICT, folder, batch, "lite_scores"),
            "full": run(sys.executable, FULL_PREDICT, folder, batch, "full_scores"),
        },
        "learn": {
            "lite": run(python, LITE_LEARN, folder, batch, "lite_after"),
            "full": run(sys.executable, FULL_LEARN, folder, batch, "full_after"),
        },
    }
    lite, full = (np.load(folder / f"{side}_scores.npy") for side in ("lite", "full"))
    right = np.load(folder / "answers.npy")
    found["predict"] |= {
        "images": len(right),
        "different_predictions": int((lite.argmax(1) != full.argmax(1)).sum()),
        "largest_difference_of_scores": float(np.abs(lite - full).max()),
        "accuracy": 100 * float((lite.argmax(1) == right).mean()),
    }
    return found


def both(hidden: tuple[int, ...], dtype: str, **options: Any) -> tuple[Any, Any, Any]:
    """Return MNIST, a network of the library and the same of lite."""
    import torch

    import sffa
    from sffa import lite
    from sffa.data import load

    torch.set_num_threads(1)
    data = load("mnist", download=False)
    net = sffa.Network(784, hidden, classes=range(10), seed=0, backend="torch", **options)
    small = lite.Network(784, hidden, classes=range(10), seed=0, dtype=dtype, **options)
    net = net.to(getattr(torch, dtype))
    for each in (net, small):
        each.standardise(data.mean, data.std)
    return data, net.to(getattr(torch, dtype)), small


def apart(hidden: tuple[int, ...], batch: int, steps: int, dtype: str, **options: Any) -> Any:
    """Return how far library and lite are apart after the same steps from the same weights."""
    import numpy as np

    import sffa

    data, net, small = both(hidden, dtype, **options)
    trainer = sffa.Trainer(net, lr=1e-3)
    for first in range(0, batch * steps, batch):
        rows = slice(first, first + batch)
        trainer.step(data.train.flat[rows], data.train.y[rows])
        small.partial_fit(data.train.flat[rows], data.train.y[rows])
    test = data.test.flat[:1000]
    scores = [net.scores(test), small.scores(test)]
    gaps = [
        float(np.abs(getattr(layer, name).detach().numpy() - block).max())
        for layer, same in zip(net.layers, small.layers, strict=True)
        for name, block in same.blocks.items()
    ]
    return {
        "largest_difference_of_scores": float(np.abs(scores[0] - scores[1]).max()),
        "largest_difference_of_weights": max(gaps),
        "different_predictions": int((scores[0].argmax(1) != scores[1].argmax(1)).sum()),
        "accuracy": 100 * float((scores[1].argmax(1) == data.test.y[:1000]).mean()),
    }


def step_by_step(hidden: tuple[int, ...], batch: int, steps: int, **options: Any) -> Any:
    """Return how far a float32 step of lite is from the library's, each from the same state.

    Where two drives are equal up to rounding, another neuron wins; Adam's first steps make much of
    such a difference, whatever its size.
    """
    import numpy as np

    import sffa

    data, net, small = both(hidden, "float32", **options)
    trainer = sffa.Trainer(net, lr=1e-3)
    test, gaps, scores = data.test.flat[:50], [], []
    for first in range(0, batch * steps, batch):
        rows = slice(first, first + batch)
        small.partial_fit(data.train.flat[rows], data.train.y[rows])
        trainer.step(data.train.flat[rows], data.train.y[rows])
        gap = 0.0
        for layer, same in zip(net.layers, small.layers, strict=True):
            for name, block in same.blocks.items():
                weight = getattr(layer, name)
                gap = max(gap, float(np.abs(weight.detach().numpy() - block).max()))
        gaps.append(gap)
        scores.append(float(np.abs(net.scores(test) - small.scores(test)).max()))
        take_over(small, trainer)
    apart = np.array(scores)
    return {
        "largest_difference_of_scores": float(apart.max()),
        "median_difference_of_scores": float(np.median(apart)),
        "steps_within_1e-4": int((apart <= 1e-4).sum()),
        "largest_difference_of_weights": max(gaps),
        "median_difference_of_weights": float(np.median(gaps)),
    }


def take_over(small: Any, trainer: Any) -> None:
    """Give lite the weights and the moments that the library has."""
    for layer, same in zip(trainer.learner.layers, small.layers, strict=True):
        for name, block in same.blocks.items():
            weight = getattr(layer, name)
            state = trainer.optimizer.state[weight]
            kept = small.optimizer.moments[f"layers.{same.number}.{name}"]
            block[:] = weight.detach().numpy()
            kept.mean[:], kept.square[:] = state["exp_avg"].numpy(), state["exp_avg_sq"].numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lite-python", default=sys.executable)
    parser.add_argument("--only", choices=NETWORKS, default="sffa")
    parser.add_argument("--width", type=int, default=1400, help="of both layers, side by side")
    parser.add_argument("--part", choices=("side by side", STEPS, *DTYPES), default="side by side")
    parser.add_argument("--out", type=Path, default=Path("results/lite.json"))
    told = parser.parse_args()
    options = NETWORKS[told.only]
    if told.part == "side by side":
        setting = {"hidden": (told.width, told.width), "batch": 32, "steps": 100}
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), *setting.values(), **options)
            outcome = compare(Path(folder), told.lite_python, 32)
    elif told.part == STEPS:
        setting = {"hidden": (400, 400), "batch": 32, "steps": 500}
        outcome = step_by_step(*setting.values(), **options)
    else:
        setting = {"hidden": (400, 400), "batch": 32, "steps": 500}
        outcome = apart(*setting.values(), told.part, **options)
    found = json.loads(told.out.read_text()) if told.out.exists() else {}
    part = f"{told.part}, {told.width}" if told.part == "side by side" else told.part
    found.setdefault(told.only, {})[part] = {"threads": 1, **setting, **outcome}
    told.out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(outcome, indent=1))


if __name__ == "__main__":
    main()
