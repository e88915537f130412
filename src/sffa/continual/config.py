"""A continual run as data: everything that decides its outcome, but the examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from sffa.continual.strategies.registry import METHODS, make_strategy
from sffa.continual.stream import Scenario
from sffa.continual.streams.registry import STREAMS, check_stream, find_stream
from sffa.core.config import (
    NetworkConfig,
    PartName,
    Seed,
    Strict,
    Widths,
    current_names,
    named_parts,
)
from sffa.core.lr_schedule import schedule_of
from sffa.core.negatives import scheme_of
from sffa.core.optimizer import ADAM, source_of
from sffa.core.presets import PRESETS, check, completed, is_network
from sffa.core.trainer import LARGEST_BATCH
from sffa.extension import is_reference


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
    epochs: int = Field(default=2, ge=1, lt=2**31, description="passes over each experience")
    batch_size: int = Field(
        default=512, ge=1, le=LARGEST_BATCH, description="new examples in a step"
    )
    lr: float = Field(default=1e-3, gt=0, description="step size of the optimiser")
    lr_schedule: PartName = Field(
        default="constant",
        description="cosine: falling to nothing over each experience; or your own",
    )
    hidden: Widths = (1400, 1400)
    network: dict[str, Any] = Field(
        default={}, description="other options of the network; see core.presets"
    )
    options: dict[str, bool | float | int | str | list[Any]] = Field(
        default={}, description="of strategies and stream, as in {'ewc.strength': 1e5}"
    )
    backend: Literal["auto", "torch", "numba"] = Field(
        default="auto", description="backend of the forward-forward networks"
    )
    negatives: PartName = Field(
        default="all", description="labels an example is shown with: all, uniform, hard, your own"
    )
    stream: str = Field(
        default="split", description="a name of continual.STREAMS, or your own as module:Class"
    )
    holdout: float = Field(
        default=0.0, ge=0, lt=1, description="share of each class's training examples set aside"
    )
    standardise: Literal["all", "first", "running"] = Field(
        default="all", description="mean and deviation of all data, the first experience, those met"
    )
    evaluate_every: int | None = Field(
        default=None, ge=1, description="experiences from one evaluation to the next"
    )
    reset_optimizer: bool = Field(
        default=False, description="whether the optimiser starts anew with each experience"
    )
    optimizer: PartName = Field(
        default=ADAM, description="adam, or a class such as torch.optim:SGD(momentum=0.9)"
    )
    branch: str | None = Field(
        default=None, description="the run it goes on from: its hash, @, experiences done"
    )

    renamed: ClassVar[dict[str, str]] = {"kernels": "backend"}
    later: ClassVar[tuple[str, ...]] = (
        *("lr_schedule", "stream", "holdout", "standardise", "evaluate_every"),
        *("branch", "negatives", "reset_optimizer", "optimizer"),
    )

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
        if values.get("stream") == "task-free":
            values = {"epochs": 1, **values}
        algorithm = str(values.get("algorithm", "sffa"))
        if algorithm in PRESETS or is_reference(algorithm):
            network = completed(algorithm, values.get("network", {}), "stream")
            values = {**values, "network": named_parts(network)}
        return values

    @model_validator(mode="after")
    def _known(self) -> Self:
        check(self.algorithm, self.hidden, self.seed, self.network)
        own = is_reference(self.algorithm)
        scheme_of(self.negatives)
        schedule_of(self.lr_schedule)
        source_of(self.optimizer)
        if self.negatives != "all" and not own and not is_network(self.algorithm):
            raise ValueError(f"{self.algorithm} has no negatives: leave negatives='all'")
        stream = find_stream(self.stream)
        others = self.method_options
        check_stream(self.stream, {k: v for k, v in self.options.items() if k not in others})
        for key in others:
            owner = key.rpartition(".")[0]
            if owner in STREAMS and owner not in METHODS:
                raise ValueError(f"'{key}' is an option of the stream '{owner}': choose that too")
        make_strategy(self.parts, others)
        if not stream.boundaries and self.epochs > 1:
            raise ValueError(f"stream '{self.stream}' is seen once: use epochs=1")
        return self

    @property
    def method_options(self) -> dict[str, Any]:
        """The options of the strategies, without those of the stream."""
        mark = f"{self.stream}."
        return {k: v for k, v in self.options.items() if not k.startswith(mark)}

    @property
    def parts(self) -> list[str]:
        """Names of the strategies that work together."""
        return self.method.split("+")


def current_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration of an earlier format under today's names, without a warning."""
    found = current_names(dict(values), ContinualConfig.renamed, quiet=True)
    if isinstance(found.get("network"), dict):
        found["network"] = current_names(found["network"], NetworkConfig.renamed, quiet=True)
    return found


def _flat(options: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"ewc": {"strength": 1}}`` as ``{"ewc.strength": 1}``."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{option}": given for option, given in value.items()}
        else:
            flat[name] = value
    return flat
