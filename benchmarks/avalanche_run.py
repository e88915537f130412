"""Train SFFA on a split dataset with Avalanche's plugins and with our engine, side by side.

    python benchmarks/avalanche_run.py [--scenario class] [--seeds 1] [--out results/avalanche.csv]

Configuration and weights are the same; the order of examples and the choice of stored ones are
not, as each draws its own.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from sffa.continual import ContinualConfig, Result
from sffa.continual import run as run_ours
from sffa.data import load
from sffa.files import write_text
from sffa.integrations import avalanche_run
from sffa.integrations.avalanche_import import import_avalanche
from sffa.kernels import warm_up

METHODS = ("naive", "ewc", "mas", "replay", "gem", "lwf")


def compare(config: ContinualConfig, data: Any, method: str) -> Iterator[dict[str, Any]]:
    """Run one configuration in both; LwF is Avalanche's alone."""
    plugins = None
    if method == "lwf":
        plugins = import_avalanche("avalanche.training.plugins")
        plugins = [plugins.LwFPlugin(alpha=1, temperature=2)]
    results: dict[str, Result] = {"avalanche": avalanche_run.run(config, data, plugins)}
    if method != "lwf":
        results["sffa"] = run_ours(config, data)
    for engine, result in results.items():
        yield {
            "dataset": config.dataset,
            "scenario": config.scenario,
            "algorithm": config.algorithm,
            "method": method,
            "engine": engine,
            "seed": config.seed,
            "epochs": config.epochs,
            "hidden": "x".join(map(str, config.hidden)),
            "acc": round(result.metrics["acc"], 3),
            "fgt": round(result.metrics["fgt"], 3),
            "train_seconds": round(sum(e["seconds"] for e in result.experiences), 2),
            "threads": torch.get_num_threads(),
        }


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| scenario | method | Avalanche | sffa | Avalanche, s | sffa, s |",
        "| --- " * 6 + "|",
    ]
    for key in dict.fromkeys((row["scenario"], row["method"]) for row in rows):
        own = [row for row in rows if (row["scenario"], row["method"]) == key]
        cells: dict[tuple[str, str], str] = {}
        for engine in ("avalanche", "sffa"):
            runs = [row for row in own if row["engine"] == engine]
            for name in ("acc", "train_seconds"):
                mean = sum(row[name] for row in runs) / len(runs) if runs else None
                cells[engine, name] = "–" if mean is None else f"{mean:.1f}"
        lines.append(
            f"| {key[0]} | {key[1]} | {cells['avalanche', 'acc']} | {cells['sffa', 'acc']} "
            f"| {cells['avalanche', 'train_seconds']} | {cells['sffa', 'train_seconds']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--scenario", nargs="+", default=["class", "task"])
    parser.add_argument("--method", nargs="+", default=list(METHODS))
    parser.add_argument("--algorithm", default="sffa")
    parser.add_argument("--hidden", type=int, nargs="+", default=[1400, 1400])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/avalanche.csv"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warm_up()
    data = load(options.dataset)
    rows: list[dict[str, Any]] = []
    for scenario in options.scenario:
        for method in options.method:
            for seed in range(options.seeds):
                config = ContinualConfig(
                    dataset=options.dataset,
                    scenario=scenario,
                    method="naive" if method == "lwf" else method,
                    algorithm=options.algorithm,
                    seed=seed,
                    epochs=options.epochs,
                    batch_size=options.batch_size,
                    hidden=tuple(options.hidden),
                )
                rows += compare(config, data, method)
                text = io.StringIO()
                writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
                write_text(options.out, text.getvalue())
    print(table(rows))


if __name__ == "__main__":
    main()
