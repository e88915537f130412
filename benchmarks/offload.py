"""One layer in memory: greedy SFFA with its layers in files, beside all in memory and beside bp.

Each training has a process of its own, forked from this one, and one thread. Its memory is what
weights, gradients and the optimiser hold at most after any step, and the most anonymous memory of
the process above that of before: pages of files are not in it, as the system may take them away.
Weights and predictions are compared by their SHA-256. Times are of the processor, so that other
processes change them little.

SFFA_DATA_DIR=… python benchmarks/offload.py --out results/offload.json \
    --figure results/figures/offload.svg
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from sffa.core import Callback, Progress, Trainer
from sffa.data import load
from sffa.environment import describe
from sffa.files import replacing, write_text
from sffa.kernels import warm_up
from sffa.report.style import styled
from sffa.study.static import StaticConfig, make_trainer
from sffa.vocabulary import BLUE, GREY, VERMILION

WAYS = {"memory": "greedy, in memory", "offload": "greedy, offload", "bp": "back-propagation"}
COLOURS = {"memory": BLUE, "offload": VERMILION, "bp": GREY}
STATUS = Path("/proc/self/status")


class Held(Callback):
    """The most that was held after any step."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.start, self.weights_mb, self.anonymous_mb = (
            trainer,
            anonymous(),
            0.0,
            0.0,
        )

    def on_batch_end(self, progress: Progress) -> None:
        """Count what training holds, and ask the system what the process does."""
        learner, optimizer = self.trainer.learner, self.trainer.optimizer
        away = getattr(learner, "offloaded", None)
        held = learner.parameters() if away is None else learner.layers[away.held].parameters()
        tensors = [t for p in held for t in (p, p.grad) if t is not None]
        tensors += [t for state in optimizer.state.values() for t in state.values()]
        total = sum(t.numel() * t.element_size() for t in tensors) / 2**20
        self.weights_mb = max(self.weights_mb, total)
        self.anonymous_mb = max(self.anonymous_mb, anonymous() - self.start)


def anonymous() -> float:
    """Return the anonymous memory of this process in MiB."""
    found = re.search(r"RssAnon:\s+(\d+) kB", STATUS.read_text())
    assert found is not None
    return int(found[1]) / 1024


def train(way: str, depth: int, asked: argparse.Namespace) -> dict[str, Any]:
    """Train one network and return what it took."""
    data = load("mnist")
    x, y = data.train.flat[: asked.examples], data.train.y[: asked.examples]
    test = data.test.flat[: asked.examples]
    bp = {"algorithm": "bp", "negatives": "none"}
    ours = {"negatives": "all", "schedule": "greedy"}
    config = StaticConfig(hidden=(asked.width,) * depth, holdout=0, **(bp if way == "bp" else ours))
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        before = anonymous()
        trainer = make_trainer(config, data, offload=Path(folder) if way == "offload" else None)
        held = Held(trainer)
        held.start = before
        started = time.perf_counter(), time.process_time()
        epochs = trainer.fit(x, y, asked.epochs, 512, callbacks=[held])
        seconds, spent = time.perf_counter() - started[0], time.process_time() - started[1]
        started = time.perf_counter(), time.process_time()
        predicted = trainer.learner.predict(test)
        asking = time.process_time() - started[1]
        total = hashlib.sha256(predicted.tobytes())
        for value in trainer.learner.state_dict().values():
            total.update(value.numpy().tobytes())
    return {
        "way": way,
        "depth": depth,
        "weights_mb": held.weights_mb,
        "anonymous_mb": held.anonymous_mb,
        "seconds": seconds,
        "processor": spent,
        "predict_processor": asking,
        "last_loss": epochs[-1].loss,
        "test_accuracy": float((predicted == data.test.y[: asked.examples]).mean() * 100),
        "sha256": total.hexdigest(),
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw memory and seconds against depth."""
    from matplotlib.figure import Figure

    shown = (
        ("weights_mb", "Weights, gradients, Adam's state, MB"),
        ("anonymous_mb", "Memory of the process, MB"),
        ("processor", "Processor time of training, s"),
    )
    with styled():
        figure = Figure(figsize=(9.0, 2.9))
        for place, (key, label) in enumerate(shown):
            axes = figure.add_subplot(1, 3, place + 1)
            for way, name in WAYS.items():
                own = [row for row in rows if row["way"] == way]
                points = [row["depth"] for row in own], [row[key] for row in own]
                axes.plot(*points, marker="o", color=COLOURS[way], label=name)
            axes.set_xscale("log", base=2)
            axes.set_xticks([row["depth"] for row in rows if row["way"] == "bp"])
            axes.get_xaxis().set_major_formatter("{x:.0f}")
            axes.set_xlabel("Layers")
            axes.set_title(label)
            axes.set_ylim(bottom=0)
        figure.axes[0].legend(loc="upper left")
        with replacing(path) as temporary:
            figure.savefig(temporary, format="svg", metadata={"Date": None})


def main() -> None:
    """Train every way at every depth, compare bits, and write table and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depths", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--width", type=int, default=1400)
    parser.add_argument("--examples", type=int, default=5120)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the layers wait; a disk, not memory")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # others would not survive the fork
    warm_up()
    torch.mm(torch.ones(512, 784), torch.ones(784, 512))
    processes = multiprocessing.get_context("fork")
    rows = []
    for depth in asked.depths:
        for way in WAYS:
            with processes.Pool(1) as pool:
                rows.append(pool.apply(train, (way, depth, asked)))
            row = rows[-1]
            print(
                f"{depth:3} layers  {WAYS[way]:18} {row['weights_mb']:7.1f} MB held  "
                f"{row['anonymous_mb']:7.1f} MB process  {row['processor']:6.1f} s of processor  "
                f"{row['sha256'][:12]}",
                flush=True,
            )
        one, other = rows[-3]["sha256"], rows[-2]["sha256"]
        print(f"    {'the same bits' if one == other else 'OTHER BITS'}", flush=True)
    sizes = {"width": asked.width, "examples": asked.examples, "epochs": asked.epochs}
    found = {
        **sizes,
        "batch": 512,
        "threads": torch.get_num_threads(),
        "environment": describe(),
        "rows": rows,
    }
    if asked.out is not None:
        write_text(asked.out, json.dumps(found, indent=1) + "\n")
    if asked.figure is not None:
        draw(rows, asked.figure)


if __name__ == "__main__":
    main()
