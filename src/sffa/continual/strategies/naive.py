"""Naive: train on what comes, and forget."""

from __future__ import annotations

from sffa.continual.strategies.base import Strategy


class Naive(Strategy):
    """Do nothing about forgetting: the lower bound."""

    needs_gradients = False
