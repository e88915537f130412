"""The benchmark measures what it says it measures."""

from __future__ import annotations

import pytest
import torch

from sffa.bench import CONTENDERS, Shape, measure, peak_memory
from sffa.bench.plain import PlainSFFA
from sffa.core import Network
from sffa.errors import ConfigurationError

SMALL = Shape(labels=3, width=60, batch=8, inputs=7, k=4)


def test_the_plain_baseline_computes_what_the_network_computes() -> None:
    network = Network(7, hidden=(60, 60), classes=range(3), k=4)
    plain = PlainSFFA(network)
    rng = torch.Generator().manual_seed(0)
    x, y = torch.randn(8, 7, generator=rng), torch.randint(3, (8,), generator=rng)
    torch.testing.assert_close(plain.loss(x, y), network.loss(x, y))
    assert plain.predict(x).equal(network.predict(x))


def test_every_contender_takes_part_and_backprop_has_ratio_one() -> None:
    names = [name for name in CONTENDERS if "fflib" not in name]
    timings = measure(SMALL, names, rounds=3)
    assert {(t.contender, t.task) for t in timings} == {
        (name, task) for name in names for task in ("step", "predict")
    }
    assert all(t.rounds == 3 and 0 < t.low <= t.median <= t.high for t in timings)
    assert {t.ratio for t in timings if t.contender == "backprop"} == {1.0}


def test_a_comparison_without_its_baseline_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="backprop"):
        measure(SMALL, ["sffa"])


def test_peak_memory_grows_with_the_network() -> None:
    small = peak_memory("backprop", Shape(width=100, batch=8, inputs=7))
    large = peak_memory("backprop", Shape(width=2000, batch=8, inputs=7))
    assert large > small + 4 * 2000 * 2000 * 4 / 2**20 / 2
