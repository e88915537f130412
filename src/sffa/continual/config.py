"""A continual run as data: everything that decides its outcome, but the examples."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sffa.core import PRESETS
from sffa.core.config import Seed, Strict, Widths
from sffa.core.presets import check, preset_of
from sffa.extension import is_reference

Scenario = Literal["class", "domain", "task"]

# What the continual experiments change in a forward-forward network, unless ``network`` says
# otherwise. The paper's text has codes of density 0.1, the code it was made with 0.2: with 0.2 the
# Task IL cells agree with its tables, with 0.1 they do not (results/ablations.csv).
NETWORK: dict[str, dict[str, Any]] = {
    "sffa": {"code_density": 0.2},
    "ffa": {"code_density": 0.2, "scale": 0.01},
}


class ContinualConfig(Strict):
    """One run of the continual protocol; defaults are the paper's (RQ2).

    >>> ContinualConfig(method="replay+ewc", options={"ewc.strength": 10}).parts
    ['replay', 'ewc']
    """

    dataset: str = Field(
        default="split-mnist", description="a name of data, with or without split-"
    )
    scenario: Scenario = Field(default="class", description="what is asked at prediction")
    method: str = Field(
        default="naive", description="a strategy, or several joined by +; your own as module:Class"
    )
    algorithm: str = Field(
        default="sffa", description="a name of core.PRESETS, or your own as module:Class"
    )
    seed: Seed = Field(default=0, description="of class order, weights, batches and buffers")
    experiences: int = Field(default=5, ge=1, description="parts the classes are split into")
    class_order: tuple[tuple[int, ...], ...] | None = Field(
        default=None, description="the classes of each experience; wins over experiences"
    )
    epochs: int = Field(default=2, ge=1, description="passes over each experience")
    batch_size: int = Field(default=512, ge=1, description="new examples in a step")
    lr: float = Field(default=1e-3, gt=0, description="of Adam")
    hidden: Widths = (1400, 1400)
    network: dict[str, Any] = Field(
        default={}, description="other options of the network; see continual.config.NETWORK"
    )
    options: dict[str, bool | float | int | str | list[Any]] = Field(
        default={}, description="of the strategies, as in {'ewc.strength': 1e5}"
    )
    backend: Literal["auto", "torch", "numba"] = Field(
        default="auto", description="backend of the forward-forward networks"
    )

    renamed: ClassVar[dict[str, str]] = {"kernels": "backend"}

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: Any) -> Any:
        """Write down what the network differs in, so that a record says all of it."""
        if not isinstance(values, dict) or not isinstance(values.get("network", {}), dict):
            return values
        order = values.get("class_order")
        if isinstance(order, list | tuple) and not all(isinstance(p, list | tuple) for p in order):
            raise ValueError(
                "class_order lists the classes of each experience, such as [[0, 1], [2, 3]]; "
                f"got {order}"
            )
        options = values.get("options")
        if isinstance(options, dict):
            values = {**values, "options": _flat(options)}
        algorithm = str(values.get("algorithm", "sffa"))
        known = algorithm in PRESETS or is_reference(algorithm)
        preset = preset_of(algorithm) if known else None
        added = {} if preset is None else NETWORK[preset["algorithm"]]
        return {**values, "network": {**added, **values.get("network", {})}}

    @model_validator(mode="after")
    def _known(self) -> Self:
        from sffa.continual.strategies.registry import make_strategy

        check(self.algorithm, self.hidden, self.seed, self.network)
        make_strategy(self.parts, self.options)
        return self

    @property
    def parts(self) -> list[str]:
        """Names of the strategies that work together."""
        return self.method.split("+")


def _flat(options: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"ewc": {"strength": 1}}`` as ``{"ewc.strength": 1}``."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{option}": given for option, given in value.items()}
        else:
            flat[name] = value
    return flat
