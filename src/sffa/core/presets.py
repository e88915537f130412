"""Every named algorithm, in one place; no other file adds a default to a network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sffa.core.backprop import Backprop, BackpropConfig
from sffa.core.closed_form import SLDA, Ridge, RidgeConfig, SLDAConfig
from sffa.core.config import NetworkConfig, Strict, current_names
from sffa.core.learner import Learner
from sffa.core.network import Network
from sffa.core.parts import own_parts
from sffa.errors import ConfigurationError, nearest
from sffa.extension import import_class, is_reference

Protocol = Literal["static", "stream"]


@dataclass(frozen=True)
class Preset:
    """What a name adds to the defaults of `NetworkConfig`, and what it adds in streams only.

    ``network`` is None for what is no forward-forward network and takes no such options; ``kind``
    and ``config`` are the classes of learner and options.
    """

    network: Mapping[str, Any] | None = field(default_factory=dict)
    stream: Mapping[str, Any] = field(default_factory=dict)
    kind: type[Learner] = Network
    config: type[Strict] = NetworkConfig

    def options(self, protocol: Protocol) -> dict[str, Any]:
        """Return the options of the network under a protocol."""
        added = self.stream if protocol == "stream" else {}
        return {**(self.network or {}), **added}


# The paper's text has codes of density 0.1, the code of its streams 0.2: with 0.2 Task IL agrees
# with its tables, with 0.1 it does not (results/ablations.csv). FFA's scale of 0.01 on the sum is
# that of the paper's streams; 1/width ends three points below its static table.
_STREAM = {"code_density": 0.2}
PRESETS: dict[str, Preset] = {
    "sffa": Preset({"algorithm": "sffa"}, _STREAM),
    "ffa": Preset({"algorithm": "ffa", "scale": 0.01}, _STREAM),
    "bp": Preset(None, kind=Backprop, config=BackpropConfig),
    # Ours. The gate was chosen on held-out examples (results/gate_choice.csv).
    "sffa-gated": Preset({"algorithm": "sffa", "gate": 0.2, "contrast_with": "current"}, _STREAM),
    # Ours, for streams above all: labels compete within each layer. The temperature was chosen on
    # held-out examples, one seed (results/gaussian_choice.csv, benchmarks/choose_gaussian.py).
    "sffa-contrast": Preset(
        {"algorithm": "sffa", "objective": "contrast", "temperature": 0.5}, _STREAM
    ),
    # Baselines that keep sums in place of examples and learn without a gradient.
    "ridge": Preset(None, kind=Ridge, config=RidgeConfig),
    "slda": Preset(None, kind=SLDA, config=SLDAConfig),
    # What SFFAClassifier is made of; chosen on tables of its own (benchmarks/choose_tables.py).
    "sffa-classifier": Preset(
        {
            "algorithm": "sffa",
            "objective": "contrast",
            "temperature": 0.3,
            "ranking": "odds",
            "activity": "none",
            "init": "block",
            "spread": 1.0,
            "codes": "onehot",
            "k": 16,
        }
    ),
}

# What ``all`` means on the command line.
COMPARED = ("sffa", "ffa", "bp", "sffa-gated", "sffa-contrast")


def preset_of(algorithm: str) -> Preset:
    """Return the preset of a name; of a ``module:Class``, denser codes in streams at most."""
    if is_reference(algorithm):
        kind = import_class(algorithm, Learner)  # type: ignore[type-abstract]
        return Preset({"algorithm": "sffa"}, _STREAM) if kind.contrastive else Preset(None)
    if algorithm not in PRESETS:
        known = ", ".join(PRESETS)
        hint = nearest(algorithm, list(PRESETS))
        raise ConfigurationError(
            f"unknown algorithm '{algorithm}'{hint} (known: {known}; your own: module:Class)"
        )
    return PRESETS[algorithm]


def learner_class(algorithm: str) -> type[Learner]:
    """Return the class of an algorithm's learners."""
    if is_reference(algorithm):
        return import_class(algorithm, Learner)  # type: ignore[type-abstract]
    return preset_of(algorithm).kind


def name_of(learner: Learner) -> str | None:
    """Return the name whose preset is of the learner's class, for what is no network; else None."""
    others = ((n, p) for n, p in PRESETS.items() if p.network is None)
    return next((name for name, preset in others if preset.kind is type(learner)), None)


def is_network(algorithm: str) -> bool:
    """Whether a name is that of a forward-forward network, which has a backend and negatives."""
    return preset_of(algorithm).network is not None


def completed(
    algorithm: str, given: Mapping[str, Any], protocol: Protocol = "static"
) -> dict[str, Any]:
    """Return the options of a network: what its name adds, then what is given.

    >>> completed("sffa-gated", {"k": 5}, "stream")
    {'gate': 0.2, 'contrast_with': 'current', 'code_density': 0.2, 'k': 5}
    """
    options = {**preset_of(algorithm).options(protocol)}
    options.pop("algorithm", None)
    return options | current_names(dict(given), NetworkConfig.renamed)


def make(
    algorithm: str,
    inputs: int,
    hidden: Iterable[int] = (1400, 1400),
    classes: Iterable[int] = (),
    seed: int = 0,
    *,
    protocol: Protocol = "static",
    **options: Any,
) -> Learner:
    """Make a learner by the name of its algorithm; ``options`` win over the name's preset.

    ``module:Class`` is a Learner of the user's, made with the same arguments.

    >>> make("sffa-gated", 64, hidden=(200,), classes=range(10)).config.gate
    0.2
    """
    preset = preset_of(algorithm)
    kind: Any = preset.kind
    merged = {**preset.options(protocol), **options}
    if is_reference(algorithm):
        kind = import_class(algorithm, Learner)
        merged.pop("algorithm", None)
    made: Learner = kind(inputs, hidden=hidden, classes=classes, seed=seed, **merged)
    return made


def check(algorithm: str, hidden: tuple[int, ...], seed: int, options: Mapping[str, Any]) -> None:
    """Refuse what `make` would refuse, without making anything.

    >>> check("sffa", (40,), 0, {"kk": 3})
    Traceback (most recent call last):
    ...
    sffa.errors.ConfigurationError: unknown option 'kk'; did you mean 'k'?
    """
    preset = preset_of(algorithm)
    if is_reference(algorithm):
        return
    given = {"inputs": 1, "hidden": hidden, "seed": seed}
    for name in options:
        if name in (*given, "algorithm"):
            raise ConfigurationError(f"'{name}' is not an option of the network but of the run")
    if preset.network is None:
        known = [name for name in preset.config.model_fields if name not in given]
        for name in options:
            if name not in known:
                who = "back-propagation" if algorithm == "bp" else algorithm
                raise ConfigurationError(
                    f"{who} has no option '{name}' (it has {', '.join(known)})"
                )
        preset.config(**given, **options)
    else:
        own_parts(options)
        config = NetworkConfig(**given, **{**preset.network, **options})
        if isinstance(config.gate, float):
            Network.shares(config)
