"""The algorithms by name, so that a configuration can ask for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sffa.core.backprop import Backprop, BackpropConfig
from sffa.core.config import NetworkConfig
from sffa.core.learner import Learner
from sffa.core.network import Network
from sffa.errors import ConfigurationError, nearest
from sffa.extension import import_class, is_reference

# What each name adds to the defaults of its network; None is the back-propagation baseline.
# The gate was chosen on held-out examples (results/gate_choice.csv).
PRESETS: dict[str, dict[str, Any] | None] = {
    "sffa": {"algorithm": "sffa"},
    "ffa": {"algorithm": "ffa"},
    "bp": None,
    "sffa-gated": {"algorithm": "sffa", "gate": 0.2, "contrast_with": "current"},
}


def make(
    algorithm: str,
    inputs: int,
    hidden: Iterable[int] = (1400, 1400),
    classes: Iterable[int] = (),
    seed: int = 0,
    **options: Any,
) -> Learner:
    """Make a learner by the name of its algorithm; ``options`` win over the name's presets.

    ``module:Class`` is a Learner of the user's own, made with the same arguments.

    >>> make("sffa-gated", 64, hidden=(200,), classes=range(10)).config.gate
    0.2
    """
    if is_reference(algorithm):
        kind: Any = import_class(algorithm, Learner)
        made: Learner = kind(inputs, hidden=hidden, classes=classes, seed=seed, **options)
        return made
    preset = _preset(algorithm)
    if preset is None:
        return Backprop(inputs, hidden, classes, seed, **options)
    return Network(inputs, hidden, classes=classes, seed=seed, **{**preset, **options})


def check(algorithm: str, hidden: tuple[int, ...], seed: int, options: Mapping[str, Any]) -> None:
    """Refuse what `make` would refuse, without making anything.

    >>> check("sffa", (40,), 0, {"kk": 3})
    Traceback (most recent call last):
    ...
    sffa.errors.ConfigurationError: unknown option 'kk'; did you mean 'k'?
    """
    if is_reference(algorithm):
        import_class(algorithm, Learner)  # type: ignore[type-abstract]
        return
    preset = _preset(algorithm)
    given = {"inputs": 1, "hidden": hidden, "seed": seed}
    for name in options:
        if name in (*given, "algorithm"):
            raise ConfigurationError(f"'{name}' is not an option of the network but of the run")
    if preset is None:
        if options:
            raise ConfigurationError(f"back-propagation has no option '{next(iter(options))}'")
        BackpropConfig(**given)
    else:
        config = NetworkConfig(**given, **{**preset, **options})
        if isinstance(config.gate, float):
            Network.shares(config)


def preset_of(algorithm: str) -> dict[str, Any] | None:
    """Return what a name adds to the defaults of its network; None where it is not a `Network`."""
    if is_reference(algorithm):
        kind = import_class(algorithm, Learner)  # type: ignore[type-abstract]
        return {"algorithm": "sffa"} if issubclass(kind, Network) else None
    return _preset(algorithm)


def _preset(algorithm: str) -> dict[str, Any] | None:
    if algorithm not in PRESETS:
        known = ", ".join(PRESETS)
        hint = nearest(algorithm, list(PRESETS))
        raise ConfigurationError(
            f"unknown algorithm '{algorithm}'{hint} (known: {known}; your own: module:Class)"
        )
    return PRESETS[algorithm]
