"""Naive: train on what comes, and forget."""

from __future__ import annotations

from sffa.continual.strategies.base import Strategy


class Naive(Strategy):
    """Do nothing about forgetting: the lower bound.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = Naive()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> strategy.megabytes
    0.0
    """

    needs_gradients = False
