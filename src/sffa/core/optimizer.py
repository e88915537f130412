"""Optimisers: our Adam by its name, any of torch's or the user's; what files hold of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sffa.core.adam import Adam
from sffa.core.training_state import moments_of
from sffa.errors import ConfigurationError, ModelFileError
from sffa.extension import is_reference, made, name_of, part_of, taken_apart

ADAM = "adam"
Source = str | type[Optimizer] | Callable[..., Optimizer]
Plain = bool | int | float | str | None


def source_of(given: Any) -> Source:
    """Return what makes an optimiser of parameters and ``lr=``, tried out on small ones.

    ``given`` is ``"adam"``, a class, a function or a partial of one, their name, or an optimiser,
    which stands for its class and settings.
    """
    if isinstance(given, str) and not is_reference(given):
        return str(part_of(given, "optimizer", Optimizer, (ADAM,)))
    found, options = taken_apart(given, "optimizer", Optimizer, functions=True)
    if isinstance(found, Optimizer):
        options, found = _settings(found), type(found)
    if "lr" in options:
        raise ConfigurationError("the step size of an optimizer is lr of its trainer or run")
    source = partial(found, **options) if options else found
    _try_out(source)
    return source


def make_optimizer(source: Source, parameters: Iterable[nn.Parameter], lr: float) -> Optimizer:
    """Make an optimiser of all these parameters, each with the same step size."""
    known = list(parameters)
    if source == ADAM:
        return Adam(list(known), lr)
    if not known:
        raise ConfigurationError("a learner without a gradient has no optimizer: leave it out")
    optimizer: Any = made("optimizer", source, known, lr=lr)  # type: ignore[arg-type]
    if not isinstance(optimizer, Optimizer):
        kind = type(optimizer).__name__
        raise ConfigurationError(
            f"optimizer {name_of(source)}: expected an Optimizer, got a {kind}"
        )
    taken = {id(p) for group in optimizer.param_groups for p in group["params"]}
    if taken != {id(parameter) for parameter in known}:
        raise ConfigurationError(f"optimizer {name_of(source)} must take all parameters, no others")
    if any(group.get("lr", lr) != lr for group in optimizer.param_groups):
        raise ConfigurationError(f"optimizer {name_of(source)} must have the step size it is given")
    return optimizer


def check_same(given: Optimizer, made_anew: Optimizer) -> None:
    """Refuse an optimiser of other parameters than one that was made for a learner."""
    groups = [[id(p) for p in group["params"]] for group in given.param_groups]
    if groups != [[id(p) for p in group["params"]] for group in made_anew.param_groups]:
        raise ConfigurationError(
            f"optimizer {type(given).__name__} must be made of the learner's parameters() alone, "
            "in one group"
        )


def tensors_of(optimizer: Optimizer, names: Mapping[int, str]) -> dict[str, Tensor]:
    """Return the tensors of an optimiser's state of named parameters, for a file."""
    prefix = "adam" if isinstance(optimizer, Adam) else "optimizer"
    return {
        f"{prefix}.{key}.{names[id(parameter)]}": value
        for parameter, state in optimizer.state.items()
        for key, value in state.items()
        if isinstance(value, Tensor) and id(parameter) in names
    }


def numbers_of(optimizer: Optimizer, names: Mapping[int, str]) -> dict[str, Any]:
    """Return what else an optimiser keeps, JSON-ready: of parameters, and changed settings."""
    state = {
        names[id(parameter)]: {k: v for k, v in kept.items() if not isinstance(v, Tensor)}
        for parameter, kept in optimizer.state.items()
        if id(parameter) in names
    }
    usual = optimizer.defaults
    groups = [
        {k: v for k, v in group.items() if isinstance(v, Plain) and v != usual.get(k) and k != "lr"}
        for group in optimizer.param_groups
    ]
    return {"state": {name: kept for name, kept in state.items() if kept}, "groups": groups}


def restore(
    optimizer: Optimizer,
    source: Source,
    parameters: Mapping[str, nn.Parameter],
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, Any],
) -> None:
    """Set an optimiser's state from a file, if it is such as a step would have left."""
    if source == ADAM:
        for name, parameter in parameters.items():
            moments = moments_of(name, parameter, tensors)
            if moments:
                optimizer.state[parameter] = moments
        return
    usual = _after_a_step(source, list(parameters.values()))
    for (name, parameter), wanted in zip(parameters.items(), usual, strict=True):
        ends = {key: f"optimizer.{key}.{name}" for key in _keys(tensors, name)}
        kept: dict[str, Any] = {key: tensors[end].to(parameter.device) for key, end in ends.items()}
        kept |= numbers.get("state", {}).get(name, {})
        if not kept:
            continue
        if {*wanted} - {*kept}:
            raise ModelFileError(f"{sorted({*wanted} - {*kept})[0]} of {name} is missing")
        for key, value in kept.items():
            if not _alike(value, wanted.get(key), parameter):
                raise ModelFileError(f"{key[:60]} of {name} is of another type or shape")
        optimizer.state[parameter] = kept
    groups = numbers.get("groups", [])
    if len(groups) not in (0, len(optimizer.param_groups)):
        raise ModelFileError(f"{len(groups)} groups of settings")
    for group, kept in zip(optimizer.param_groups, groups, strict=False):
        if any(key not in group or not isinstance(value, Plain) for key, value in kept.items()):
            raise ModelFileError("settings that the optimizer does not have")
        group.update(kept)


def _keys(tensors: Mapping[str, Tensor], name: str) -> list[str]:
    """Return the keys of the tensors that a file has of one parameter."""
    parts = [full.split(".", 2) for full in tensors if full.startswith("optimizer.")]
    return [part[1] for part in parts if len(part) == 3 and part[2] == name]


def _alike(value: Any, usual: Any, parameter: nn.Parameter) -> bool:
    """Whether a value of a file may stand where ``usual`` would; None: nobody knows."""
    if not isinstance(value, Tensor):
        return isinstance(value, Plain) and not isinstance(usual, Tensor)
    shapes = [usual.shape] if isinstance(usual, Tensor) else [parameter.shape, torch.Size(())]
    dtype = usual.dtype if isinstance(usual, Tensor) else value.dtype
    return value.shape in shapes and value.dtype == dtype


def _settings(optimizer: Optimizer) -> dict[str, Any]:
    """Return the arguments but ``lr`` by which an optimiser differs from its class's defaults."""
    known = signature(type(optimizer)).parameters
    group = optimizer.param_groups[0]
    return {
        name: group[name]
        for name, parameter in known.items()
        if name in group and name not in ("params", "lr") and group[name] != parameter.default
    }


def _try_out(source: Source) -> None:
    """Refuse what cannot make a step, or keeps what no file can hold."""
    for state in _after_a_step(source, [nn.Parameter(torch.ones(2, 2))]):
        for key, value in state.items():
            if "." in key or not isinstance(value, Tensor | Plain):
                raise ConfigurationError(
                    f"optimizer {name_of(source)} keeps '{key}', a {type(value).__name__}: files "
                    "hold tensors and plain values"
                )


def _after_a_step(source: Source, parameters: list[nn.Parameter]) -> list[dict[str, Any]]:
    """Return the state that a step leaves of copies of the parameters."""
    copies = [nn.Parameter(parameter.detach().clone()) for parameter in parameters]
    optimizer = make_optimizer(source, copies, 1e-3)
    for copy in copies:
        copy.grad = torch.zeros_like(copy)
    made("optimizer", optimizer.step)
    return [dict(optimizer.state[copy]) for copy in copies]
