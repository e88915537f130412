"""Elastic weight consolidation (Kirkpatrick 2017)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import torch
from torch import Tensor

from sffa.continual.strategies.base import named, snapshot, zeros_like
from sffa.continual.strategies.quadratic import QuadraticPenalty
from sffa.continual.stream import Experience
from sffa.core import Learner
from sffa.core.batch import Batch
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, nearest

Fisher = Literal["batch", "sample", "true"]
FISHERS: tuple[Fisher, ...] = get_args(Fisher)


class EWC(QuadraticPenalty):
    """Penalty: strength · Σ over experiences of F (θ−θ∗)², F the squared gradient of the loss.

    F is a mean over the experience, of what ``fisher`` says:

    - ``"batch"`` (the paper's, after Avalanche): over batches, of the squared gradient of the
      batch's mean loss. Gradients of single examples cancel within a batch, so F falls about as
      1 / batch size, and the same ``strength`` holds the less the larger the batches are.
    - ``"sample"``: over examples, of the squared gradient of the example's own loss (the empirical
      Fisher information). It does not depend on the batch size, and is larger: a ``strength`` of
      the one does not carry over to the other.
    - ``"true"``: the same, with labels as the network's own softmax over its logits expects them.

    The sum over experiences is kept folded: with A the last θ∗ and W = Σ F,
    Σ Fᵢ (θ−θᵢ∗) = W (θ−A) + Σ Fᵢ (A−θᵢ∗), whose second part changes only between experiences. So
    memory and time do not grow with the experiences, and nothing large is subtracted from
    something as large.

    Parameters
    ----------
    strength
        λ of the paper.
    decay
        None: every experience counts alike. A number (``ewc-online``): old importance times this
        plus the new one, around the last θ∗ alone.
    fisher
        How importance is measured, as above.
    examples
        How many examples of each experience it is measured on, if not by batches; None: all.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = EWC(strength=10.0)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> sorted(strategy.parameter_state)
    ['anchor', 'curvature', 'offset']
    """

    def __init__(
        self,
        strength: float = 1e5,
        decay: float | None = None,
        fisher: Fisher = "batch",
        examples: int | None = None,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(strength, seed, batch_size)
        if decay is not None and not 0 <= decay <= 1:
            raise ConfigurationError(f"the decay of EWC lies in 0 to 1, got {decay}")
        if fisher not in FISHERS:
            raise ConfigurationError(
                f"unknown fisher '{fisher}'{nearest(fisher, list(FISHERS))}; known: "
                f"{', '.join(FISHERS)}"
            )
        if examples is not None and examples < 1:
            raise ConfigurationError(f"EWC needs 1 or more examples of a task, got {examples}")
        self.decay = decay
        self.fisher: Fisher = fisher
        self.examples = examples

    def kinds(self) -> tuple[str, ...]:  # noqa: D102
        return (*super().kinds(), *(("offset",) if self.decay is None else ()))

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Move the anchor to the present weights and add this experience's importance."""
        if not self.strength:
            return
        parameters = named(learner)
        fisher = self.fisher_information(learner, experience)
        now = snapshot(parameters)
        if self.decay is None:
            self.parameter_state["offset"] = self._moved_offset(now)
        old = self.parameter_state.get("curvature", {})
        kept = 1.0 if self.decay is None else self.decay
        for name, importance in fisher.items():
            importance.mul_(2 * self.strength)
            if name in old:
                importance.add_(old[name], alpha=kept)
        self.parameter_state["curvature"] = fisher
        self.parameter_state["anchor"] = now

    def fisher_information(self, learner: Learner, experience: Experience) -> dict[str, Tensor]:
        """Return F of an experience: the mean of squared gradients."""
        total = zeros_like(named(learner))
        for weight, batch in self._batches(learner, experience):
            learner.backward(*batch)
            reached = [(total[n], p.grad) for n, p in named(learner).items() if p.grad is not None]
            grads = [grad for _, grad in reached]
            torch._foreach_addcmul_(
                [importance for importance, _ in reached], grads, grads, value=weight
            )
        return total

    def _batches(self, learner: Learner, experience: Experience) -> Iterable[tuple[float, Batch]]:
        """Return the batches whose gradients are squared, and how much each of them counts."""
        view = experience.train
        if self.fisher == "batch":
            share = 1 / -(-len(view) // self.batch_size)
            return ((share, batch) for batch in view.batches(self.batch_size))
        rng = generator(self.seed, "fisher", experience.index)
        drawn = torch.from_numpy(rng.permutation(len(view))[: self.examples])
        singles = [view.take(place) for place in drawn.reshape(-1, 1)]
        share = 1 / len(singles)
        if self.fisher == "sample":
            return ((share, one) for one in singles)
        return [pair for one in singles for pair in _expected(learner, one, share)]

    def _moved_offset(self, now: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return Σ Fᵢ (θ−θᵢ∗) at the present weights, which is where the anchor moves."""
        old, offset = (
            self.parameter_state.get("curvature", {}),
            self.parameter_state.get("offset", {}),
        )
        moved = {}
        for name, weights in now.items():
            if name in old:
                away = weights - self.parameter_state["anchor"][name]
                moved[name] = torch.addcmul(offset[name], old[name], away)
            else:
                moved[name] = torch.zeros_like(weights)
        return moved


@torch.no_grad()
def _expected(learner: Learner, one: Batch, share: float) -> list[tuple[float, Batch]]:
    """Return an example with each label it may have, and how much of its share each has.

    Labels count by the softmax of the logits, the mean over layers where each has its own.
    """
    probabilities = learner.logits(one.x, one.task).mean(dim=0).softmax(dim=-1)[0]
    columns = learner.candidates(1, one.task)[0].tolist()
    labels = [learner.classes[column] for column in columns]
    return [
        (share * float(p), one._replace(y=torch.tensor([label])))
        for p, label in zip(probabilities, labels, strict=True)
    ]
