"""Choose the defaults of SFFAClassifier, on tables of their own.

    SFFA_DATA_DIR=… python benchmarks/choose_tables.py [--models "default,8 winners"] [--tables xor]
                                [--splits 2] [--threads 1] [--out results/tables_choice.csv]

The tables have other seeds, sizes and parameters than those of tables.py, which are for the report,
and none is of the kinds in its UNSEEN. MLPClassifier stands beside them for comparison. Rows that
the file holds already are kept, so that settings can be added.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_diabetes,
    make_blobs,
    make_circles,
    make_gaussian_quantiles,
    make_moons,
)
from tables import MODELS, Data, compare, draw, made, verdict

import sffa
from sffa.data import load


def xor_of_three() -> Data:
    x = draw(2000, 6, 101)
    return x, (x[:, 0] > 0) ^ (x[:, 1] > 0) ^ (x[:, 2] > 0)


def xor() -> Data:
    x = draw(800, 8, 102)
    return x, (x[:, 0] > 0) ^ (x[:, 1] > 0)


def sine() -> Data:
    x = draw(3000, 5, 103)
    return x, np.sin(4 * x[:, 0]) > 0


def checkerboard() -> Data:
    x = np.random.default_rng(104).uniform(0, 5, size=(2000, 2))
    return x, np.floor(x).sum(axis=1) % 2


def products() -> Data:
    x = draw(8000, 12, 105)
    return x, x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) - 0.5 * x[:, 3] * x[:, 4] > 0


def diabetes() -> Data:
    x, target = load_diabetes(return_X_y=True)
    return x, target > np.median(target)


def word_counts() -> Data:
    """Draw counts of 600 words in texts of four kinds."""
    rng = np.random.default_rng(106)
    kinds = rng.dirichlet(np.full(600, 0.2), size=4)
    y = np.arange(1000) % 4
    return rng.poisson(25 * (0.55 * kinds.mean(axis=0) + 0.45 * kinds[y])).astype(np.float64), y


def images() -> Data:
    """Take 2,500 training images of Fashion-MNIST."""
    part = load("fmnist").train
    return np.asarray(part.flat[:2500], np.float64), np.asarray(part.y[:2500])


TABLES: dict[str, Callable[[], Data]] = {
    "moons": lambda: make_moons(500, noise=0.25, random_state=110),
    "circles": lambda: make_circles(700, noise=0.1, factor=0.6, random_state=111),
    "xor": xor,
    "xor of three": xor_of_three,
    "4 classes": lambda: made(900, 15, 8, 4, 112, class_sep=1.2),
    "3 hard classes": lambda: made(1500, 25, 6, 3, 113, class_sep=0.6),
    "8 classes": lambda: made(2000, 25, 12, 8, 114),
    "25 classes": lambda: made(4000, 30, 16, 25, 115, n_clusters_per_class=1),
    "8 clusters": lambda: made(9000, 16, 10, 2, 116, n_clusters_per_class=8),
    "1,200 features": lambda: made(500, 1200, 25, 4, 117, n_redundant=60),
    "500 features": lambda: made(800, 500, 20, 3, 118, n_redundant=40),
    "95:5": lambda: made(4000, 15, 8, 2, 119, weights=[0.95], n_clusters_per_class=3),
    "97:3": lambda: made(3500, 24, 8, 2, 120, weights=[0.97], n_clusters_per_class=2),
    "gaussian quantiles": lambda: make_gaussian_quantiles(
        n_samples=1500, n_features=6, n_classes=4, random_state=121
    ),
    "ball": lambda: make_gaussian_quantiles(
        n_samples=3000, n_features=8, n_classes=2, random_state=122
    ),
    "checkerboard": checkerboard,
    "sine of one feature": sine,
    "products": products,
    "diabetes": diabetes,
    "blobs": lambda: make_blobs(600, 6, centers=5, cluster_std=4.0, random_state=123),
    "word counts": word_counts,
    "images": images,
}
BALANCED = ("95:5", "97:3")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "8 winners": {"network": {"k": 8}},
    "spread 1.5": {"network": {"spread": 1.5}},
    "spread 0.5": {"network": {"spread": 0.5}},
    "sigmoid": {"network": {"activation": "sigmoid"}},
    "relu": {"network": {"activation": "relu"}},
}


def main() -> None:
    models: dict[str, Callable[[int], Any]] = {
        name: partial(_classifier, **given) for name, given in SETTINGS.items()
    }
    models["MLPClassifier"] = MODELS["MLPClassifier"]
    rows = compare(TABLES, models, BALANCED, range(2), Path("results/tables_choice.csv"))
    for name in SETTINGS:
        print(verdict(rows, name, "MLPClassifier"))


def _classifier(seed: int, **given: Any) -> sffa.SFFAClassifier:
    return sffa.SFFAClassifier(random_state=seed, **given)


if __name__ == "__main__":
    main()
