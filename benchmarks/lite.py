"""`sffa.lite` beside the whole library: the same predictions, the same steps, memory and time.

A network trained a little by the library judges MNIST's 10,000 test images in both, and both take
500 further steps on the same batches. Each side runs in a process of its own, so that peak memory
is its own; `--lite-python` names the Python of an environment that holds NumPy alone.

    python benchmarks/lite.py --lite-python /path/to/bin/python
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

LITE = """
import json, resource, sys, time
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
import json, resource, sys, time
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
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
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

    import sffa

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
    after = [np.load(folder / f"{side}_after.npy") for side in ("lite", "full")]
    ends = [sffa.load(folder / f"{side}.safetensors").state_dict() for side in ("lite", "full")]
    gaps = [float((ends[0][name] - ends[1][name]).abs().max()) for name in ends[0]]
    found["learn"] |= {
        "largest_difference_of_scores": float(np.abs(after[0] - after[1]).max()),
        "largest_difference_of_weights": max(gaps),
        "different_predictions": int((after[0].argmax(1) != after[1].argmax(1)).sum()),
    }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lite-python", default=sys.executable)
    parser.add_argument("--hidden", default="1400,1400")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--out", type=Path, default=Path("results/lite.json"))
    told = parser.parse_args()
    hidden = tuple(int(width) for width in told.hidden.split(","))
    found: dict[str, Any] = {"dataset": "mnist", "hidden": hidden, "dtype": "float32"}
    found |= {"batch": told.batch, "steps": told.steps, "threads": 1}
    for name, options in {
        "sffa": {},
        "sffa contrast, gate 0.3": {"objective": "contrast", "gate": 0.3},
        "ffa": {"algorithm": "ffa"},
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), hidden, told.batch, told.steps, **options)
            found[name] = compare(Path(folder), told.lite_python, told.batch)
        print(name, json.dumps(found[name], indent=1))
    told.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
