"""What is trained on what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Labels, widths, examples of a batch and their features; the paper's unless given."""

    labels: int = 10
    width: int = 1400
    batch: int = 512
    inputs: int = 784
    k: int = 15
    layers: int = 2
