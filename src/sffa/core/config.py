"""What a network is made of, as data: typed, complete, and strict about unknown keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from sffa.errors import ConfigurationError, nearest, warn_renamed
from sffa.extension import NETWORK_PARTS, is_reference, name_of


class Strict(BaseModel):
    """A frozen configuration that accepts only the keys it knows.

    What pydantic refuses becomes one line that names the nearest key.

    >>> NetworkConfig(inputs=4, hiden=(8,))
    Traceback (most recent call last):
    ...
    sffa.errors.ConfigurationError: unknown option 'hiden'; did you mean 'hidden'?
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    renamed: ClassVar[dict[str, str]] = {}  # old names of fields, which work for one release
    later: ClassVar[tuple[str, ...]] = ()  # fields that earlier records do not have

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**current_names(values, self.renamed))
        except ValidationError as error:
            raise ConfigurationError(_one_line(type(self), error)) from None

    @model_serializer(mode="wrap")
    def _written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out later fields at their defaults: hashes of earlier records stay the same."""
        values: dict[str, Any] = write(self)
        fields = type(self).model_fields
        return {
            name: value
            for name, value in values.items()
            if name not in self.later or value != fields[name].default
        }


def current_names(
    values: dict[str, Any], renamed: Mapping[str, str], *, quiet: bool = False
) -> dict[str, Any]:
    """Return options under their present names; an old one is told in a warning.

    >>> current_names({"kernels": "torch"}, {"kernels": "backend"}, quiet=True)
    {'backend': 'torch'}
    """
    found = {}
    for name, value in values.items():
        if name in renamed and renamed[name] not in values:
            if not quiet:
                warn_renamed(f"option '{name}'", f"'{renamed[name]}'")
            name = renamed[name]
        found[name] = value
    return found


def _one_line(model: type[BaseModel], error: ValidationError) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"unknown option '{name}'{nearest(name, list(model.model_fields))}"
    if first["type"] == "value_error":
        return str(first["ctx"]["error"])
    return f"option '{name}' = {first['input']!r}: {first['msg'].lower()}"


def _listed(widths: Any) -> Any:
    if isinstance(widths, int):
        raise ValueError(f"layer widths are a list, such as [{widths}], got {widths}")
    return widths


def _positive(widths: tuple[int, ...]) -> tuple[int, ...]:
    if min(widths) < 1:
        raise ValueError(f"layer widths must be positive, got {widths}")
    return widths


Widths = Annotated[
    tuple[int, ...],
    Field(min_length=1, description="layer widths"),
    BeforeValidator(_listed),
    AfterValidator(_positive),
]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

# The parts of a network that may be the user's, and what is there by name.
PARTS: dict[str, tuple[str, ...]] = dict(
    zip(NETWORK_PARTS, ((), ("symba", "onehot"), ("bce", "contrast")), strict=True)
)


def part_name(given: Any) -> Any:
    """Return the name of a part that is given as a class or an object."""
    return given if isinstance(given, str | float | int | list | dict | None) else name_of(given)


def named_parts(network: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a network with the names of parts that are classes or objects."""
    return {n: part_name(given) if n in PARTS else given for n, given in network.items()}


PartName = Annotated[str, Field(max_length=500), BeforeValidator(part_name)]


class NetworkConfig(Strict):
    """A forward-forward network. Defaults are the paper's, of its static runs.

    >>> config = NetworkConfig(inputs=64, hidden=(40, 40), k=5)
    >>> config.activation, config.code_size
    ('sigmoid', 100)
    >>> NetworkConfig(inputs=64, gates=0.3)
    Traceback (most recent call last):
    sffa.errors.ConfigurationError: unknown option 'gates'; did you mean 'gate'?
    """

    inputs: int = Field(ge=1, description="features of an example")
    hidden: Widths = (1400, 1400)
    algorithm: Literal["sffa", "ffa"] = Field(
        default="sffa", description="the layers and their loss"
    )
    seed: Seed = Field(default=0, description="of weights, codes and gates")
    activation: Literal["sigmoid", "relu"] = Field(
        default="sigmoid", description="sigmoid for sffa and relu for ffa unless given"
    )
    k: int = Field(default=15, ge=1, description="winners in each polarity (sffa)")
    codes: PartName = Field(
        default="symba", description="kind of label code: symba, onehot, or your own"
    )
    code_size: int = Field(default=100, ge=1, description="bits of a symba code")
    code_density: float = Field(default=0.1, gt=0, lt=1, description="share of ones in a code")
    epsilon: float = Field(default=1e-9, gt=0, description="keeps the goodness defined at rest")
    clamp: float = Field(default=1e-4, ge=0, lt=0.5, description="of the goodness in the loss")
    theta: float = Field(default=2.0, description="threshold of the ffa probability")
    scale: float | Literal["mean"] = Field(
        default=0.01, description="of the ffa energy: a number on the sum, or mean: 1/width"
    )
    ranking: Literal["energy", "probability", "odds"] = Field(
        default="energy",
        description="what candidates are scored by: the goodness, its probability (ffa), or its "
        "log-odds, as contrast has them",
    )
    norm: Literal["unit", "literal", "rms"] = Field(
        default="unit", description="between layers: by the norm, its square, or to unit power"
    )
    init: Literal["joint", "block"] = Field(
        default="joint", description="bound of the weights: by all inputs together, or by block"
    )
    spread: float = Field(
        default=3.0,
        gt=0,
        description="with init block, the deviation of the input's part of a drive, and the bound "
        "of the biases",
    )
    objective: PartName = Field(
        default="bce",
        description="of a layer: each label by itself, contrast: a softmax over them, or your own",
    )
    goodness: PartName | None = Field(
        default=None, description="your own as module:Class; none: that of the algorithm"
    )
    temperature: float = Field(default=1.0, gt=0, description="of the softmax of contrast")
    activity: Literal["multiply", "add", "none"] = Field(
        default="multiply",
        description="activity term: multiply for sffa and none for ffa unless given",
    )
    activity_norm: Literal["l1", "l2"] = Field(default="l1", description="norm of the activity")
    alpha: float = Field(default=10.0, ge=0, description="strength of the activity term")
    coupling: Literal["local", "product"] = Field(
        default="local", description="a loss per layer, or one on the product of the goodness"
    )
    gate: float | Literal["disjoint"] | None = Field(
        default=None, description="share of the neurons that a label may use"
    )
    planned_classes: int | None = Field(
        default=None, ge=1, description="classes a disjoint gate makes room for at first"
    )
    contrast_with: Literal["seen", "current"] = Field(
        default="seen", description="labels that a new example is contrasted with"
    )
    renamed: ClassVar[dict[str, str]] = {"candidates": "contrast_with"}
    later: ClassVar[tuple[str, ...]] = ("spread", "goodness")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        """Fill in what depends on the algorithm."""
        if not isinstance(given, dict):
            return given
        ffa = given.get("algorithm") == "ffa"
        usual = {
            "activation": "relu" if ffa else "sigmoid",
            "activity": "none" if ffa else "multiply",
        }
        return {**given, **{n: v for n, v in usual.items() if given.get(n) is None}}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if isinstance(self.gate, float) and not 0 < self.gate <= 1:
            raise ValueError(f"gate must lie in (0, 1] or be 'disjoint', got {self.gate}")
        for part, known in PARTS.items():
            name = getattr(self, part)
            if name is not None and name not in known and not is_reference(name):
                hint, names = (
                    nearest(name, list(known)),
                    ", ".join((*known, "your own as module:Class")),
                )
                raise ValueError(f"unknown {part} '{name}'{hint}; known: {names}")
        if self.objective != "bce" and self.coupling == "product":
            raise ValueError(
                f"objective '{self.objective}' is local to a layer: coupling 'product' goes with "
                "'bce' only"
            )
        if self.algorithm == "sffa":
            for width in self.hidden:
                self._fits_sffa(width)
        return self

    def _fits_sffa(self, width: int) -> None:
        if width % 2:
            raise ValueError(
                f"width {width} is odd: an sffa layer has as many positive as negative neurons; "
                f"use {width + 1}"
            )
        if self.k > width // 2:
            raise ValueError(
                f"k = {self.k} winners do not fit into a half of {width // 2} neurons; "
                f"use k <= {width // 2} or a wider layer"
            )

    @property
    def polarities(self) -> int:
        """Groups of neurons with an energy of their own: two in SFFA, one in FFA."""
        return 2 if self.algorithm == "sffa" else 1
