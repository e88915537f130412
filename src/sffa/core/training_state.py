"""What a model file says of a training, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import BaseModel, Field, ValidationError
from torch import Tensor, nn

from sffa.errors import ModelFileError
from sffa.extension import LONGEST_NAME, check_at_hand

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")
_Name = Annotated[str, Field(max_length=LONGEST_NAME, strict=True)]
_Word = Annotated[int, Field(ge=0, lt=2**128, strict=True)]


class _Position(BaseModel):
    state: _Word
    inc: _Word


class _Draws(BaseModel):
    """The state of numpy's PCG64."""

    bit_generator: Literal["PCG64"]
    state: _Position
    has_uint32: Annotated[int, Field(ge=0, le=1, strict=True)]
    uinteger: Annotated[int, Field(ge=0, lt=2**32, strict=True)]


class _Numbers(BaseModel):
    """What an optimiser keeps beside tensors: of each parameter, and in its groups."""

    state: dict[str, dict[str, Any]] = {}
    groups: list[dict[str, Any]] = []


class TrainingState(BaseModel):
    """Everything but tensors that training needs to go on."""

    lr: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
    negatives: _Name
    schedule: Literal["online", "greedy"]
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)]
    layer: Annotated[int, Field(ge=0, lt=2**31, strict=True)] | None
    epochs_done: Annotated[int, Field(ge=0, lt=2**53, strict=True)]
    rng: _Draws
    lr_schedule: _Name = "constant"
    optimizer: _Name = "adam"
    input_dropout: Annotated[float, Field(ge=0, lt=1, strict=True)] = 0.0
    optimizer_numbers: _Numbers = _Numbers()

    @classmethod
    def checked(cls, given: dict[str, Any], depth: int) -> Self:
        """Return the state that a header holds, for a learner of so many layers."""
        try:
            state = cls(**given)
        except (ValidationError, TypeError) as error:
            raise ModelFileError(said(error)) from None
        for part in ("negatives", "lr_schedule", "optimizer"):
            check_at_hand(part, getattr(state, part))
        if state.layer is not None and state.layer >= depth:
            raise ModelFileError(f"layer {state.layer} of {depth} is to be trained")
        return state


def moments_of(
    name: str, parameter: nn.Parameter, tensors: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return Adam's state of one parameter, all of it or nothing, on the parameter's device."""
    found = {key: tensors.get(f"adam.{key}.{name}") for key in _MOMENTS}
    if all(tensor is None for tensor in found.values()):
        return {}
    moments = {}
    for key, tensor in found.items():
        shape = torch.Size(()) if key == "step" else parameter.shape
        if tensor is None or tensor.dtype != torch.float32 or tensor.shape != shape:
            raise ModelFileError(f"{key} of {name} is missing, or of another type or shape")
        moments[key] = tensor.to(parameter.device)
    return moments


def said(error: Exception) -> str:
    """Return the first thing that pydantic found wrong, in one line.

    >>> said(ValueError("no"))
    'no'
    """
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())[:300]
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])[:80]
    return f"{place}: {first['msg']}" if place else str(first["msg"])
