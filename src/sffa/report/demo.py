"""The demo: short runs on the embedded digits, and the page made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sffa.analysis import Sparsity, sparsity_of
from sffa.continual import ContinualConfig
from sffa.continual import run as run_continual
from sffa.core.seeds import generator
from sffa.data import Dataset, load
from sffa.record import Record
from sffa.report import figures
from sffa.report.page import write
from sffa.study.static import StaticConfig, train_static

PAGE = "report.html"
_HIDDEN = (400, 400)
# The same examples, epochs and batches for all; the baseline prefers the smaller step.
_STEP = {"sffa": 3e-3, "ffa": 3e-3, "bp": 1e-3}
_METHODS = ("naive", "replay", "gaussian")

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Demo:
    """What the demo ran: a record for each run, the sparsity it found, and the page."""

    static: list[Record]
    continual: list[Record]
    sparsity: dict[str, Sparsity]
    page: Path


def run_demo(folder: Path, seed: int = 0, epochs: int = 30, tell: Tell = lambda _: None) -> Demo:
    """Train the three algorithms, learn a stream with three methods, write the page."""
    data = load("digits")
    static, sparsity = [], {}
    for algorithm, lr in _STEP.items():
        tell(f"training {algorithm} on {len(data.train):,} digits, {epochs} epochs")
        record, found = _train(algorithm, lr, data, seed, epochs)
        static.append(record)
        if found is not None:
            sparsity[algorithm] = found
    continual = []
    for method in _METHODS:
        tell(f"learning the digits two at a time, sffa with {method}")
        continual.append(_learn_stream(method, data, seed, max(epochs // 3, 1)))
    tell("drawing")
    page = write(
        folder / PAGE,
        [*static, *continual],
        figures=[figures.sparsity(sparsity, "digits")],
        title="sffa on handwritten digits",
        note=(
            "SFFA, FFA and back-propagation on scikit-learn's 8 x 8 digits with the same budget; "
            "then SFFA on a stream of two new digits at a time, forgetting the old ones (naive), "
            "rehearsing a hundred stored examples (replay), or learning from what statistics of "
            "each digit draw, with no example kept (gaussian)."
        ),
    )
    return Demo(static, continual, sparsity, page)


def _train(
    algorithm: str, lr: float, data: Dataset, seed: int, epochs: int
) -> tuple[Record, Sparsity | None]:
    values: dict[str, Any] = {} if algorithm == "bp" else {"negatives": "all"}
    config = StaticConfig(
        dataset="digits",
        algorithm=algorithm,
        seed=seed,
        epochs=epochs,
        batch_size=32,
        lr=lr,
        hidden=_HIDDEN,
        holdout=0,
        **values,
    )
    record, learner = train_static(config, data)
    if algorithm == "bp":
        return record, None
    rng = generator(seed, "sparsity")
    return record, sparsity_of(learner, data.test.flat, data.test.y, rng)


def _learn_stream(method: str, data: Dataset, seed: int, epochs: int) -> Record:
    config = ContinualConfig(
        dataset="split-digits",
        scenario="class",
        method=method,
        seed=seed,
        epochs=epochs,
        batch_size=32,
        lr=3e-3,
        hidden=_HIDDEN,
        options={"replay.capacity": 100} if method == "replay" else {},
    )
    return run_continual(config, data).record()
