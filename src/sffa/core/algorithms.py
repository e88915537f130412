"""The algorithms by name, so that a configuration can ask for one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sffa.core.backprop import Backprop
from sffa.core.network import Network
from sffa.errors import ConfigurationError, nearest

# What each name adds to the defaults of its network; None is the back-propagation baseline.
# The gate was chosen on held-out examples (results/gate_choice.csv).
PRESETS: dict[str, dict[str, Any] | None] = {
    "sffa": {"algorithm": "sffa"},
    "ffa": {"algorithm": "ffa"},
    "bp": None,
    "sffa-gated": {"algorithm": "sffa", "gate": 0.2, "candidates": "current"},
}


def make(
    algorithm: str,
    inputs: int,
    hidden: Iterable[int] = (1400, 1400),
    classes: Iterable[int] = (),
    seed: int = 0,
    **options: Any,
) -> Network | Backprop:
    """Make a learner by the name of its algorithm; ``options`` win over the name's presets.

    >>> make("sffa-gated", 64, hidden=(200,), classes=range(10)).config.gate
    0.2
    """
    if algorithm not in PRESETS:
        known = ", ".join(PRESETS)
        hint = nearest(algorithm, list(PRESETS))
        raise ConfigurationError(f"unknown algorithm '{algorithm}'{hint} (known: {known})")
    preset = PRESETS[algorithm]
    if preset is None:
        return Backprop(inputs, hidden, classes, seed, **options)
    return Network(inputs, hidden, classes=classes, seed=seed, **{**preset, **options})
