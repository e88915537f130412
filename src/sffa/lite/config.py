"""What a network is made of; fields and defaults are those of `sffa.core.NetworkConfig`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from sffa.errors import ConfigurationError, nearest

_CHOICES: dict[str, tuple[object, ...]] = {
    "algorithm": ("sffa", "ffa"),
    "activation": ("sigmoid", "relu"),
    "codes": ("symba", "onehot"),
    "ranking": ("energy", "probability", "odds"),
    "norm": ("unit", "literal", "rms"),
    "init": ("joint", "block"),
    "objective": ("bce", "contrast"),
    "activity": ("multiply", "add", "none"),
    "activity_norm": ("l1", "l2"),
    "coupling": ("local", "product"),
    "contrast_with": ("seen", "current"),
}
_WHOLE = {"inputs": 1, "seed": 0, "k": 1, "code_size": 1, "planned_classes": 1}  # the least
_REAL = ("code_density", "epsilon", "clamp", "theta", "temperature", "alpha", "spread")
_RENAMED = {"candidates": "contrast_with"}  # in files of the first format


@dataclass(frozen=True)
class Config:
    """A forward-forward network. See `sffa.core.NetworkConfig` for what each field means.

    >>> Config(inputs=4, hidden=(40,)).polarities
    2
    """

    inputs: int
    hidden: tuple[int, ...] = (1400, 1400)
    algorithm: str = "sffa"
    seed: int = 0
    activation: str | None = None
    k: int = 15
    codes: str = "symba"
    code_size: int = 100
    code_density: float = 0.1
    epsilon: float = 1e-9
    clamp: float = 1e-4
    theta: float = 2.0
    scale: float | str = 0.01
    ranking: str = "energy"
    norm: str = "unit"
    init: str = "joint"
    spread: float = 3.0
    objective: str = "bce"
    temperature: float = 1.0
    activity: str | None = None
    activity_norm: str = "l1"
    alpha: float = 10.0
    coupling: str = "local"
    gate: float | str | None = None
    planned_classes: int | None = None
    contrast_with: str = "seen"
    goodness: str | None = None

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known and not (value is None and name in ("activation", "activity")):
                raise ConfigurationError(f"{name} is one of {', '.join(map(str, known))}")
        for name, least in _WHOLE.items():
            value = getattr(self, name)
            if value is None and name == "planned_classes":
                continue
            if not _is_whole(value) or not least <= value < 2**63:
                raise ConfigurationError(f"{name} must be a whole number of at least {least}")
        numbers = [getattr(self, name) for name in _REAL]
        numbers += [] if self.scale == "mean" else [self.scale]
        numbers += [] if self.gate in (None, "disjoint") else [self.gate]
        if not all(map(_is_real, numbers)) or self.temperature <= 0:
            raise ConfigurationError(f"an option that must be a number is none: {numbers}")
        if not self.hidden or not all(_is_whole(w) and 0 < w < 2**31 for w in self.hidden):
            raise ConfigurationError("hidden are the widths of the layers, such as (400, 400)")
        if self.algorithm == "sffa" and any(w % 2 or self.k > w // 2 for w in self.hidden):
            raise ConfigurationError(f"layers must be even, and hold {self.k} winners in each half")
        if self.goodness is not None:
            raise ConfigurationError("sffa.lite has the goodness of SFFA and of FFA, and no other")
        if self.objective == "contrast" and self.coupling == "product":
            raise ConfigurationError("objective 'contrast' is local: coupling must be 'local' too")

    @property
    def polarities(self) -> int:
        """Groups of neurons with an energy of their own: two in SFFA, one in FFA."""
        return 2 if self.algorithm == "sffa" else 1

    @property
    def shares(self) -> list[int]:
        """Neurons of a polarity that each label owns in each layer, when gated."""
        groups = [width // self.polarities for width in self.hidden]
        if self.gate == "disjoint":
            shares = [group // (self.planned_classes or 1) for group in groups]
        else:
            shares = [round(float(self.gate or 1) * group) for group in groups]
        if any(share < (self.k if self.algorithm == "sffa" else 1) for share in shares) or any(
            share > group for share, group in zip(shares, groups, strict=True)
        ):
            raise ConfigurationError(f"a gate of {self.gate} leaves a label {min(shares)} neurons")
        return shares

    def scale_of(self, layer: int) -> float:
        """Return what the energy of an FFA layer is multiplied by."""
        return 1 / self.hidden[layer] if self.scale == "mean" else float(self.scale)


def make(classes: Iterable[int], **options: Any) -> Config:
    """Return a configuration in which everything is decided; unknown options are refused.

    >>> make([0, 1], inputs=4, hiden=(8,))
    Traceback (most recent call last):
    ...
    sffa.errors.ConfigurationError: unknown option 'hiden'; did you mean 'hidden'?
    """
    options = {_RENAMED.get(name, name): value for name, value in options.items()}
    known = [field.name for field in fields(Config)]
    for name in options:
        if name not in known:
            raise ConfigurationError(f"unknown option '{name[:80]}'{nearest(name, known)}")
    try:
        config = Config(**{**options, "hidden": tuple(options.get("hidden", Config.hidden))})
    except TypeError as error:
        raise ConfigurationError(" ".join(str(error).split())[:200]) from None
    symmetric = config.algorithm == "sffa"
    planned = config.planned_classes
    if config.gate == "disjoint" and planned is None:
        planned = len(list(classes)) or None
        if planned is None:
            raise ConfigurationError("a disjoint gate needs classes or planned_classes")
    return replace(
        config,
        activation=config.activation or ("sigmoid" if symmetric else "relu"),
        activity=config.activity or ("multiply" if symmetric else "none"),
        planned_classes=planned,
    )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e30
