"""FFA as it learns: how many of its latents are awake, and what is gained by going through those.

After some epochs of static training the same batch is learned from and predicted by the network
with compiled loops (``backend="numba"``) and by one with the same weights and torch's products
alone, in turn; their medians and ratios are written as they come.

OMP_NUM_THREADS=1 SFFA_DATA_DIR=… python benchmarks/awake.py --out results/awake.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sffa.core import Network, Trainer, make
from sffa.data import load
from sffa.files import write_text

BATCH, ROUNDS = 512, 9


def milliseconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median of each call, all of them in turn."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS + 1):
        for name, call in calls.items():
            before = time.perf_counter()
            call()
            taken[name].append(1e3 * (time.perf_counter() - before))
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def compared(networks: dict[str, Network], x: Any, y: Any) -> dict[str, Any]:
    """Return the share of first latents that are awake, and the times of both networks."""
    label = torch.as_tensor(y)[:, None]
    pairs = torch.cat([label, (label + 1) % 10], dim=1)
    with torch.no_grad():
        first = next(iter(networks["numba"].scan(x, pairs)))
        awake = (first.active > 0).float().mean(dim=(0, 2))
    learn = {n: lambda net=net: net.backward(x, y, candidates=pairs) for n, net in networks.items()}
    guess = {name: lambda net=net: net.predict(x) for name, net in networks.items()}
    row: dict[str, Any] = {"awake_right": float(awake[0]), "awake_wrong": float(awake[1])}
    for what, calls in (("backward", learn), ("predict", guess)):
        found = milliseconds(calls)
        row[f"{what}_ms"] = found
        row[f"{what}_ratio"] = found["torch"] / found["numba"]
    return row


def main() -> None:
    """Train on MNIST as the paper does, and measure after some epochs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--epochs", type=int, nargs="+", default=[0, 1, 5, 10, 20])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    data = load(asked.dataset)
    networks = {}
    for backend in ("numba", "torch"):
        given = data.features, (1400, 1400), range(data.classes)
        networks[backend] = make("ffa", *given, backend=backend)
        networks[backend].standardise(data.mean, data.std)
    trainer = Trainer(networks["numba"], 1e-4, "uniform")
    x, y = data.test.flat[:BATCH], data.test.y[:BATCH]
    rows = []
    for epochs in sorted(asked.epochs):
        trainer.fit(data.train.flat, data.train.y, epochs - trainer.epochs_done, BATCH)
        networks["torch"].load_state_dict(networks["numba"].state_dict())
        rows.append({"epochs": epochs, **compared(networks, x, y)})
        print(rows[-1], flush=True)
        result = {"dataset": asked.dataset, "threads": torch.get_num_threads(), "rows": rows}
        write_text(asked.out, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
