"""Who is measured: the library's networks, the plain way of writing them, and a peer package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from sffa.bench.plain import PlainSFFA
from sffa.bench.shape import Shape
from sffa.core import Trainer, make
from sffa.errors import ConfigurationError


@dataclass(frozen=True)
class Contender:
    """A network ready to be timed: a training step, a prediction of a batch, and of one row."""

    step: Callable[[], object]
    predict: Callable[[], object]
    row: Callable[[], object] | None = None


def batch_of(shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Make a standardised batch: what is in it does not matter to dense arithmetic."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((shape.batch, shape.inputs), dtype=np.float32)
    return torch.from_numpy(x), torch.from_numpy(rng.integers(shape.labels, size=shape.batch))


def _network(algorithm: str, shape: Shape, negatives: str = "all", **options: Any) -> Contender:
    x, y = batch_of(shape)
    if algorithm == "sffa":
        options["k"] = shape.k
    hidden = (shape.width,) * shape.layers
    learner = make(algorithm, shape.inputs, hidden, range(shape.labels), **options)
    trainer = Trainer(learner, negatives=negatives)
    row = x[:1].numpy()
    return Contender(
        lambda: trainer.step(x, y), lambda: learner.predict(x), lambda: learner.predict(row)
    )


def _plain(shape: Shape) -> Contender:
    x, y = batch_of(shape)
    network = make(
        "sffa", shape.inputs, (shape.width,) * shape.layers, range(shape.labels), k=shape.k
    )
    plain = PlainSFFA(network)  # type: ignore[arg-type]
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        plain.loss(x, y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return Contender(step, lambda: plain.predict(x))


def _fflib(shape: Shape) -> Contender:
    """Wrap the package fflib 0.3.0: plain FFA, a positive and a negative pass a step."""
    try:
        from fflib.nn.ff_linear import FFLinear
        from fflib.nn.ff_net import FFNet
        from fflib.probes.one_hot import TryAllClasses
    except ImportError as error:
        raise ConfigurationError(
            f"fflib cannot be imported ({error}): pip install --no-deps fflib==0.3.0"
        ) from None
    x, y = batch_of(shape)
    widths = [shape.inputs + shape.labels] + [shape.width] * shape.layers
    layers = [
        FFLinear(fan_in, width, loss_threshold=2.0, lr=1e-3) for fan_in, width in pairwise(widths)
    ]
    network = FFNet(layers, "cpu")

    def join(images: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        return torch.cat([images, codes], dim=1)

    def step() -> None:
        codes = torch.nn.functional.one_hot(y, shape.labels).float()
        wrong = torch.nn.functional.one_hot((y + 1) % shape.labels, shape.labels).float()
        network.run_train_combined(join(x, codes), join(x, wrong))

    probe = TryAllClasses(lambda images, codes: network(join(images, codes)), shape.labels)

    def predict() -> object:
        with torch.no_grad():
            return probe.predict(x)

    return Contender(step, predict)


CONTENDERS: dict[str, Callable[[Shape], Contender]] = {
    "backprop": lambda shape: _network("bp", shape),
    "sffa": lambda shape: _network("sffa", shape, backend="numba"),
    "sffa, gate 0.3": lambda shape: _network("sffa", shape, backend="numba", gate=0.3),
    "sffa, disjoint gate": lambda shape: _network("sffa", shape, backend="numba", gate="disjoint"),
    "sffa, pairs": lambda shape: _network("sffa", shape, "uniform", backend="numba"),
    "sffa, torch kernels": lambda shape: _network("sffa", shape, backend="torch"),
    "sffa, plain": _plain,
    "ffa": lambda shape: _network("ffa", shape),
    "ffa, pairs": lambda shape: _network("ffa", shape, "uniform"),
    "fflib (ffa, pairs)": _fflib,
}
