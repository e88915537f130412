"""Small networks and data that every analysis can be tried on."""

from __future__ import annotations

import numpy as np
import pytest

from sffa.core import Network, Trainer
from sffa.data import load


@pytest.fixture(scope="session")
def digits():
    return load("digits")


def trained(algorithm: str, digits, epochs: int, **options) -> Network:
    net = Network(64, hidden=(200, 120), algorithm=algorithm, classes=range(10), seed=0, **options)
    net.standardise(digits.mean, digits.std)
    trainer = Trainer(net, lr=5e-3, negatives="uniform", seed=0)
    trainer.fit(digits.train.flat, digits.train.y, epochs=epochs, batch_size=256)
    return net


@pytest.fixture(scope="session")
def sffa(digits) -> Network:
    return trained("sffa", digits, epochs=30)


@pytest.fixture(scope="session")
def ffa(digits) -> Network:
    return trained("ffa", digits, epochs=30)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
