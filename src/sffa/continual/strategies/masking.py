"""Parameter masking, which the paper names for Class IL (after Konishi 2023, SPG)."""

from __future__ import annotations

import torch
from torch import Tensor

from sffa.continual.strategies.base import named, zeros_like
from sffa.continual.strategies.changed_step import ChangedStep
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.errors import ConfigurationError, ModelFileError


class Masking(ChangedStep):
    """Step: Δθ ← (1 − m)·Δθ, the mask m from 0 to 1 what past experiences need of a weight.

    After an experience, importance is the mean over its batches of the absolute gradient of the
    batch-mean loss. Soft masks are m = tanh(strength · importance / its root mean square over the
    parameter); hard ones (``share``) are 1 for the most important of the weights of a parameter
    that are still free, and 0 for others. Of several experiences the largest mask counts. The
    step is masked, not the gradient, which Adam would scale up again. Memory: a number for each
    weight; no example.

    Parameters
    ----------
    strength
        How soon a soft mask is full.
    share
        Of the free weights of each parameter, how many an experience freezes; None for soft masks.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = Masking()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> sorted(strategy.parameter_state)
    ['mask']
    """

    def __init__(
        self,
        strength: float = 1.0,
        share: float | None = None,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(seed, batch_size)
        if not strength >= 0 or (share is not None and not 0 <= share <= 1):
            raise ConfigurationError(
                "masking needs a strength of 0 or more and a share in 0 to 1, got "
                f"{strength} and {share}"
            )
        self.strength = strength
        self.share = share

    def held(self) -> list[str]:  # noqa: D102
        return list(self.parameter_state.get("mask", {}))

    def changed(self, name: str, step: Tensor) -> Tensor:  # noqa: D102
        return step.mul_(1 - self.parameter_state["mask"][name])

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Let each mask cover what this experience needs, too."""
        if not (self.strength if self.share is None else self.share):
            return
        old = self.parameter_state.get("mask", {})
        masks = {}
        for name, importance in self._importance(learner, experience).items():
            before = old.get(name, torch.zeros_like(importance))
            masks[name] = torch.maximum(before, self._mask(importance, before))
        self.parameter_state["mask"] = masks

    def _mask(self, importance: Tensor, before: Tensor) -> Tensor:
        """Return the mask of one experience."""
        if self.share is None:
            size = importance.square().mean().sqrt().clamp(min=torch.finfo(importance.dtype).tiny)
            return importance.mul(self.strength / size).tanh_()
        free = importance.masked_fill(before == 1, 0.0).flatten()
        wanted = int(self.share * int((before < 1).sum()))
        best = free.topk(wanted).indices
        mask = torch.zeros_like(free)
        mask[best[free[best] > 0]] = 1
        return mask.reshape(importance.shape)

    def _importance(self, learner: Learner, experience: Experience) -> dict[str, Tensor]:
        total = zeros_like(named(learner))
        share = 1 / -(-len(experience.train) // self.batch_size)
        for batch in experience.train.batches(self.batch_size):
            learner.backward(*batch)
            for name, parameter in named(learner).items():
                if parameter.grad is not None:
                    total[name].add_(parameter.grad.abs(), alpha=share)
        return total

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse masks that are none, or of another type than the weights."""
        parameters = named(learner)
        for name, mask in self.parameter_state.get("mask", {}).items():
            if mask.dtype != parameters[name].dtype or not bool(((mask >= 0) & (mask <= 1)).all()):
                raise ModelFileError(f"the mask of {name[:60]} is none: numbers from 0 to 1")
