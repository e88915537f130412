"""Records made up for tests: the shape of real ones, numbers from a generator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sffa.record import Record

METHODS = ("naive", "ewc", "si", "mas", "replay", "gem")
ALGORITHMS = ("bp", "ffa", "sffa")
ENVIRONMENT = {"version": "0.1.0", "machine": {"cpu": "made up", "cores": 2}, "threads": 1}


def continual(
    dataset: str = "split-mnist",
    scenario: str = "class",
    method: str = "replay",
    algorithm: str = "sffa",
    seed: int = 0,
    **more: Any,
) -> dict[str, Any]:
    rng = np.random.default_rng([seed, *map(ord, dataset + scenario + method + algorithm)])
    kept = {"class": 20, "domain": 65, "task": 90}[scenario] + 10 * METHODS.index(method)
    matrix = np.full((6, 5), 0.0 if scenario == "class" else 50.0)
    for after in range(1, 6):
        for on in range(after):
            loss = (100 - min(kept, 99)) * (after - 1 - on) / 5
            matrix[after, on] = np.clip(99 - loss + rng.normal(0, 2), 0, 100)
    curve = [matrix[after, :after].mean() for after in range(1, 6)]
    config = {"dataset": dataset, "scenario": scenario, "method": method, "algorithm": algorithm}
    config |= {"seed": seed, "epochs": 2, "lr": 1e-3, "hidden": [1400, 1400], "network": {"k": 15}}
    return {
        "dataset": dataset,
        "scenario": scenario,
        "method": method,
        "algorithm": algorithm,
        "seed": seed,
        "metrics": {
            "acc": matrix[5].mean(),
            "fgt": np.mean([matrix[i + 1, i] - matrix[5, i] for i in range(4)]),
            "fwt": -16.0 if scenario == "class" else 1.0,
            "bwt": -5.0,
        },
        "matrix": matrix.tolist(),
        "curve": curve,
        "per_class": {str(c): float(rng.uniform(60, 100)) for c in range(10)},
        "experiences": [
            {"classes": [2 * i, 2 * i + 1], "seconds": 1.5, "memory_mb": 400.0} for i in range(5)
        ],
        "config": config,
        "environment": ENVIRONMENT,
        "seconds": 8.25,
        "peak_memory_mb": 512.0,
        "status": "done",
        "error": None,
        **more,
    }


def static(
    dataset: str = "mnist", algorithm: str = "sffa", seed: int = 0, epochs: int = 8, **more: Any
) -> dict[str, Any]:
    rng = np.random.default_rng([seed, *map(ord, dataset + algorithm)])
    top = {"bp": 98.2, "ffa": 97.0, "sffa": 97.8}.get(algorithm, 97.0) + rng.normal(0, 0.2)
    test = [top - 12 * 0.6**epoch for epoch in range(epochs)]
    return {
        "dataset": dataset,
        "scenario": "static",
        "method": "none" if algorithm == "bp" else "uniform",
        "algorithm": algorithm,
        "seed": seed,
        "metrics": {"best": max(test), "last": test[-1], "val_selected": test[-2]},
        "curve": [
            {
                "epoch": n + 1,
                "loss": 1.2 * 0.7**n,
                "test": value,
                "validation": value - 0.3,
                "layers": [value - 0.8, value - 0.2],
            }
            for n, value in enumerate(test)
        ],
        "config": {"dataset": dataset, "algorithm": algorithm, "seed": seed, "epochs": epochs},
        "environment": ENVIRONMENT,
        "seconds": 30.0,
        "status": "done",
        **more,
    }


def failed(**names: Any) -> dict[str, Any]:
    record = continual(**names)
    for key in ("metrics", "matrix", "curve", "per_class", "experiences"):
        del record[key]
    return record | {"status": "failed", "error": "the loss is nan: lower lr"}


def whole_study(seeds: int = 10) -> list[dict[str, Any]]:
    """All runs of the paper's RQ2: 1,080 with ten seeds."""
    return [
        continual(dataset, scenario, method, algorithm, seed)
        for dataset in ("split-mnist", "split-fmnist")
        for scenario in ("class", "domain", "task")
        for method in METHODS
        for algorithm in ALGORITHMS
        for seed in range(seeds)
    ]


def read(items: Iterable[dict[str, Any]]) -> list[Record]:
    """Make records of what the functions above return, which tests may have changed."""
    return [Record.from_json(item) for item in items]
