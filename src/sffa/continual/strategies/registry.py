"""The strategies by name, and their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sffa.continual.options import (
    accepted,
    arguments,
    check_options,
    differing,
    lacking,
    own,
)
from sffa.continual.strategies.agem import AGEM
from sffa.continual.strategies.base import Combined, Strategy
from sffa.continual.strategies.derpp import DERPP
from sffa.continual.strategies.er_ace import ERACE
from sffa.continual.strategies.ewc import EWC
from sffa.continual.strategies.gaussian import Gaussian
from sffa.continual.strategies.gem import GEM
from sffa.continual.strategies.joint import Joint
from sffa.continual.strategies.lwf import LwF
from sffa.continual.strategies.mas import MAS
from sffa.continual.strategies.masking import Masking
from sffa.continual.strategies.naive import Naive
from sffa.continual.strategies.projection import Projection
from sffa.continual.strategies.replay import Replay
from sffa.continual.strategies.si import SI
from sffa.errors import ConfigurationError, nearest
from sffa.extension import import_class, is_reference

# The class of each name and what the name adds to its defaults; the first six are the paper's.
METHODS: dict[str, tuple[type[Strategy], dict[str, Any]]] = {
    "naive": (Naive, {}),
    "ewc": (EWC, {}),
    "si": (SI, {}),
    "mas": (MAS, {}),
    "replay": (Replay, {}),
    "gem": (GEM, {}),
    "gaussian": (Gaussian, {}),
    "ewc-online": (EWC, {"decay": 0.9}),
    "replay-reservoir": (Replay, {"policy": "reservoir"}),
    "replay-balanced": (Replay, {"policy": "class"}),
    "a-gem": (AGEM, {}),
    "lwf": (LwF, {}),
    "derpp": (DERPP, {}),
    "er-ace": (ERACE, {}),
    "masking": (Masking, {}),
    "projection": (Projection, {}),
    "joint": (Joint, {}),
}
PAPER = ("naive", "ewc", "si", "mas", "replay", "gem")
_OURS = ("seed", "batch_size")


def find(method: str) -> tuple[type[Strategy], dict[str, Any]]:
    """Return the class of a method, and what the name adds to its defaults.

    ``module:Class`` is a strategy of the user's own.
    """
    if is_reference(method):
        return import_class(method, Strategy), {}
    if method not in METHODS:
        raise ConfigurationError(
            f"unknown method '{method}'{nearest(method, list(METHODS))} "
            f"(known: {', '.join(METHODS)}; join them with +; your own: module:Class)"
        )
    return METHODS[method]


def options_of(method: str) -> dict[str, Any]:
    """Return the options of a method with their defaults.

    >>> options_of("ewc-online")
    {'strength': 100000.0, 'decay': 0.9, 'fisher': 'batch', 'examples': None}
    """
    kind, preset = find(method)
    return {n: preset.get(n, default) for n, default in arguments(kind, _OURS).items()}


def check(parts: Sequence[str], options: Mapping[str, Any]) -> None:
    """Refuse methods and options that do not exist, and values of the wrong type."""
    if len(set(parts)) < len(parts):
        raise ConfigurationError(f"a method is named twice in '{'+'.join(parts)}'")
    kinds: dict[str, type] = {part: find(part)[0] for part in parts}
    check_options(kinds, {part: options_of(part) for part in parts}, options)


def make_strategy(
    parts: Sequence[str],
    options: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    batch_size: int = 512,
) -> Strategy:
    """Make the strategy of one name, or of several at work together.

    >>> make_strategy(["ewc"], {"ewc.strength": 10}).strength
    10
    """
    given = dict(options or {})
    check(parts, given)
    made = []
    for part in parts:
        kind, preset = find(part)
        made.append(_made(part, kind, {**preset, **own(part, given)}, seed, batch_size))
    return made[0] if len(made) == 1 else Combined(made)


def describe(strategy: Strategy) -> tuple[str, dict[str, Any]]:
    """Return the method and the options by which a configuration names a strategy.

    >>> describe(EWC(strength=10.0))
    ('ewc', {'ewc.strength': 10.0})
    """
    if isinstance(strategy, Combined):
        described = [describe(part) for part in strategy.parts]
        return "+".join(name for name, _ in described), {
            key: value for _, options in described for key, value in options.items()
        }
    kind = type(strategy)
    known = [name for name, (cls, preset) in METHODS.items() if cls is kind and not preset]
    name = known[0] if known else f"{kind.__module__}:{kind.__qualname__}"
    return name, {f"{name}.{option}": v for option, v in differing(strategy, _OURS).items()}


# Strategies that keep neither examples nor statistics of old labels.
_WITHOUT_OLD_LABELS = ("naive", "ewc", "ewc-online", "si", "mas", "lwf", "masking")


def expectation(method: str, scenario: str, last: float | None = None) -> str | None:
    """Return one line to say before training where a method cannot work in a scenario, else None.

    In the paper and here (results/rq2.csv) such methods end Class IL knowing the last experience
    alone; ``last`` is its share of the classes, if known. Methods joined by + can work as soon as
    one of them can.

    >>> expectation("ewc", "class").partition(":")[0]
    'ewc keeps nothing of old labels in Class IL'
    >>> expectation("replay+ewc", "class") is None
    True
    """
    parts = method.split("+")
    if scenario != "class" or not all(part in _WITHOUT_OLD_LABELS for part in parts):
        return None
    share = "" if last is None else f"about {100 * last:.0f} %, "
    return (
        f"{method} keeps nothing of old labels in Class IL: expect {share}what the last experience "
        "teaches; replay and gaussian keep the others, a gate with contrast_with=current keeps some"
    )


def _made(
    name: str, kind: type[Strategy], options: dict[str, Any], seed: int, batch_size: int
) -> Strategy:
    """Make one strategy; one of the user's own need not take seed and batch size."""
    common = {"seed": seed, "batch_size": batch_size}
    missing = lacking(kind, {*options, *common})
    if missing:
        raise ConfigurationError(f"method '{name}' needs the option '{name}.{missing[0]}'")
    for option, value in options.items():
        if isinstance(value, int) and abs(value) >= 2**31:
            raise ConfigurationError(
                f"'{name}.{option}' must be below 2**31, got {str(value)[:40]}"
            )
    made = kind(**options, **accepted(kind, common))
    if not hasattr(made, "buffers"):
        raise ConfigurationError(f"'{name}' must call super().__init__() in its __init__")
    made.seed, made.batch_size = seed, batch_size
    return made
