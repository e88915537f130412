"""Compare the classifiers, out of the box, with scikit-learn's MLPClassifier on small data.

    python benchmarks/classifiers.py [--seeds 1] [--threads 1] [--out results/classifiers.csv]

Five folds, stratified and shuffled by the seed; the same folds for all. Times are of fitting and
of predicting the fold held out. MLPClassifier has its defaults too, behind a StandardScaler, as
the others standardise by themselves.
"""

from __future__ import annotations

import argparse
import csv
import io
import platform
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sffa
from sffa.files import write_text
from sffa.kernels import warm_up

DATASETS = {"digits": load_digits, "wine": load_wine, "breast_cancer": load_breast_cancer}


def contenders(seed: int) -> dict[str, Any]:
    return {
        "SFFAClassifier": sffa.SFFAClassifier(random_state=seed),
        "FFAClassifier": sffa.FFAClassifier(random_state=seed),
        "MLPClassifier": make_pipeline(StandardScaler(), MLPClassifier(random_state=seed)),
    }


def measure(dataset: str, seed: int) -> list[dict[str, Any]]:
    x, y = DATASETS[dataset](return_X_y=True)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(x, y))
    rows = []
    for name, estimator in contenders(seed).items():
        for fold, (train, test) in enumerate(folds):
            started = time.perf_counter()
            estimator.fit(x[train], y[train])
            fitted = time.perf_counter()
            right = float(np.mean(estimator.predict(x[test]) == y[test]))
            rows.append(
                {
                    "dataset": dataset,
                    "classifier": name,
                    "seed": seed,
                    "fold": fold,
                    "accuracy": round(100 * right, 3),
                    "fit_seconds": round(fitted - started, 4),
                    "predict_seconds": round(time.perf_counter() - fitted, 4),
                    "threads": torch.get_num_threads(),
                    "machine": f"{platform.machine()} {platform.system()}",
                }
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| dataset | classifier | accuracy | fit, s | predict, s |",
        "| --- | --- | --- | --- | --- |",
    ]
    for dataset in DATASETS:
        for name in contenders(0):
            own = [r for r in rows if r["dataset"] == dataset and r["classifier"] == name]
            if not own:
                continue
            accuracy = [r["accuracy"] for r in own]
            fit, predict = (
                np.median([r[key] for r in own]) for key in ("fit_seconds", "predict_seconds")
            )
            lines.append(
                f"| {dataset} | {name} | {np.mean(accuracy):.1f} ± {np.std(accuracy):.1f} % "
                f"| {fit:.2f} | {predict:.3f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/classifiers.csv"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm_up()
    rows = [
        row
        for seed in range(options.seeds)
        for dataset in DATASETS
        for row in measure(dataset, seed)
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(options.out, text.getvalue())
    print(table(rows))


if __name__ == "__main__":
    main()
