"""Orthogonal projection, which the paper names for Class IL (after OWM, Zeng 2019; GPM, Saha 2021).

For forward-forward layers the projection is exact: a layer learns from its own inputs alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sffa.continual.strategies.base import named
from sffa.continual.strategies.changed_step import ChangedStep
from sffa.continual.strategies.restored import INTEGERS, checked
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Growth, Learner
from sffa.core.batch import Batch
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, ModelFileError

_BASIS, _AXIS = "basis.", "axis."
_BIAS = -1  # the axis of a bias, as it is kept
_APART = 1e-3  # how far from orthonormal a restored basis may be


class Projection(ChangedStep):
    """Step: ΔW ← ΔW − U·Uᵀ·ΔW, U an orthonormal basis of the past inputs of the weights W.

    An input x in the span of U then meets the same x·W as before. After an experience, U takes in
    the principal directions of what its inputs have outside the span, until U holds
    ``threshold`` of their squares. The inputs of a forward-forward layer are images, label codes
    and latents under every label known, each with weights and a basis of its own, so that past
    images keep their drive under past labels; a bias, whose input is always 1, stays. The step is
    projected, not the gradient: Adam leaves the subspace again. Memory: up to inputs² numbers for
    each matrix of weights; no example.

    Parameters
    ----------
    threshold
        The share of the inputs' squares that is kept free of change.
    examples
        How many of an experience are looked at, at most.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = Projection()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> strategy.buffers["basis.body.0.weight"].shape[0]  # directions of 64 features
    64
    """

    def __init__(
        self,
        threshold: float = 0.95,
        examples: int = 2000,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(seed, batch_size)
        if not 0 <= threshold <= 1 or examples < 1:
            raise ConfigurationError(
                "projection needs a threshold in 0 to 1 and 1 or more examples, got "
                f"{threshold} and {examples}"
            )
        self.threshold = threshold
        self.examples = examples

    def attach(self, learner: Learner) -> None:
        """Refuse a learner that does not tell what its weights multiply."""
        if type(learner).weight_inputs is Learner.weight_inputs:
            raise ConfigurationError(
                f"projection needs a learner with weight_inputs, and {type(learner).__name__} has "
                "none"
            )

    def held(self) -> list[str]:  # noqa: D102
        return [name.removeprefix(_BASIS) for name in self.buffers if name.startswith(_BASIS)]

    def changed(self, name: str, step: Tensor) -> Tensor:  # noqa: D102
        basis = self.buffers[_BASIS + name].to(step.device)
        rows = _as_rows(step, self._axis(name))
        rows.sub_(basis @ (basis.T @ rows))
        return step

    def _axis(self, name: str) -> int | None:
        axis = int(self.buffers[_AXIS + name])
        return None if axis == _BIAS else axis

    @torch.no_grad()
    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Take the directions of this experience's inputs into the bases."""
        moments: dict[str, Tensor] = {}
        axes: dict[str, int] = {}
        for batch in self._looked_at(experience):
            for name, axis, inputs in learner.weight_inputs(batch.x, batch.task):
                square = inputs.T @ inputs
                moments[name] = moments[name] + square if name in moments else square
                axes[name] = _BIAS if axis is None else axis
        for name, moment in moments.items():
            old = self.buffers.get(_BASIS + name, moment.new_zeros(len(moment), 0).cpu())
            basis = extended(old, moment.cpu(), self.threshold)
            if basis.shape[1]:
                self.buffers[_BASIS + name] = basis
                self.buffers[_AXIS + name] = torch.tensor(axes[name])

    def _looked_at(self, experience: Experience) -> list[Batch]:
        view = experience.train
        rng = generator(self.seed, "projection", experience.index)
        drawn = torch.from_numpy(rng.permutation(len(view))[: self.examples])
        starts = range(0, len(drawn), self.batch_size)
        return [view.take(drawn[start : start + self.batch_size]) for start in starts]

    def grow(self, growths: Sequence[Growth]) -> None:
        """Follow weights that have more inputs now; what is new is free."""
        super().grow(growths)
        for growth in growths:
            name = _BASIS + growth.name
            if growth.old is None or name not in self.buffers:
                continue
            axis = self._axis(growth.name)
            if axis is not None:
                basis = self.buffers[name]
                grown = basis.new_zeros(growth.new.shape[axis], basis.shape[1])
                grown[growth.places[axis]] = basis
                self.buffers[name] = grown

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse what is no orthonormal basis of the inputs of a parameter."""
        parameters = named(learner)
        along = {name.removeprefix(_AXIS) for name in self.buffers if name.startswith(_AXIS)}
        for name in {*self.held(), *along}:
            if name not in parameters:
                raise ModelFileError(f"a basis for '{name[:60]}', which is no parameter")
            axis = int(checked(self.buffers, _AXIS + name, (), INTEGERS))
            shape = parameters[name].shape
            if not (_BIAS <= axis < len(shape)) or (axis == _BIAS) != (len(shape) == 1):
                raise ModelFileError(f"the basis of {name[:60]} is along an axis {axis}")
            size = 1 if axis == _BIAS else shape[axis]
            basis = checked(self.buffers, _BASIS + name, (size, None))
            away = basis.T @ basis - torch.eye(basis.shape[1])
            if away.numel() and float(away.abs().max()) > _APART:
                raise ModelFileError(f"the basis of {name[:60]} is not orthonormal")


def _as_rows(step: Tensor, axis: int | None) -> Tensor:
    """Return a view (inputs, outputs) of a parameter's step."""
    if axis is None:
        return step[None]
    return step if axis == 0 else step.T


def extended(basis: Tensor, moment: Tensor, threshold: float) -> Tensor:
    """Return a basis (size, r) with the directions that it lacks to hold ``threshold`` of a moment.

    ``moment`` (size, size) is the sum of x·xᵀ over inputs x; what it has is its trace.
    """
    wide, known = moment.double(), basis.double()
    total = float(wide.trace())
    left = wide - known @ (known.T @ wide)
    left = left - (left @ known) @ known.T
    missing = float(left.trace()) - (1 - threshold) * total
    room = len(basis) - basis.shape[1]
    if not total > 0 or missing <= 0 or not room:
        return basis
    values, vectors = torch.linalg.eigh((left + left.T) / 2)
    gained = values.flip(0)[:room].clamp(min=0).cumsum(dim=0)
    wanted = min(int((gained < missing * (1 - 1e-9)).sum()) + 1, room)
    both = torch.cat([known, vectors.flip(1)[:, :wanted]], dim=1)
    made: Tensor = torch.linalg.qr(both).Q
    return made.float().contiguous()  # as a checkpoint keeps it: sums in the same order
