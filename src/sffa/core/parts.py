"""The parts of a network that a user may write, and whether they can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from sffa.core.codes import LabelCode
from sffa.core.config import PARTS
from sffa.core.goodness import Energies, Goodness
from sffa.core.objective import Objective, own_losses
from sffa.errors import ConfigurationError
from sffa.extension import made, name_of, part_of

_BASES: dict[str, Any] = {"goodness": Goodness, "codes": LabelCode, "objective": Objective}


def own_parts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return as objects those parts among a network's options that are the user's."""
    given = {name: options[name] for name in _BASES if options.get(name) is not None}
    found = {name: part_of(part, name, _BASES[name], PARTS[name]) for name, part in given.items()}
    return {name: part for name, part in found.items() if not isinstance(part, str)}


def try_out(own: Mapping[str, Any], usual: Goodness, polarities: int) -> None:
    """Refuse parts that fail on two examples under three labels, or answer in another shape."""
    target = torch.tensor([[True, False, False], [False, True, False]])
    energies = tuple(torch.full((2, 3), 0.5, requires_grad=True) for _ in range(polarities))
    goodness = own.get("goodness", usual)
    if "goodness" in own:
        for ask in (goodness.log_odds, goodness.score, goodness.probability):
            _check_shape(goodness, made("goodness", ask, energies), energies)
        _check_shape(goodness, made("goodness", goodness.bce, energies, target), energies)
    if "objective" in own:
        given = goodness, energies, target, torch.ones_like(target)
        losses = made("objective", own_losses, own["objective"], *given)
        made("objective", torch.autograd.grad, losses.sum(), energies, allow_unused=True)


def _check_shape(goodness: Goodness, answer: object, energies: Energies) -> None:
    wanted = tuple(energies[0].shape)
    if not isinstance(answer, Tensor) or answer.shape != wanted:
        got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
        raise ConfigurationError(
            f"goodness {name_of(goodness)}: expected a value for each input {wanted}, got {got}"
        )
