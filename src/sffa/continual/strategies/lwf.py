"""Learning without forgetting (Li & Hoiem 2016): the earlier network's outputs as targets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from sffa.continual.strategies.base import Strategy, named, snapshot
from sffa.continual.strategies.restored import INTEGERS, check_tasks, checked
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.core.batch import Batch, Clock, Task
from sffa.errors import ConfigurationError, ModelFileError


class LwF(Strategy):
    """Add strength·T²·KL(softmax(z∗/T) ‖ softmax(z/T)) over the labels known before.

    It is taken on the examples of the step: the new ones, and those of a strategy beside it. z∗ are
    the logits of the network as it was at the end of the last experience, z those of now. For
    forward-forward learners logits are the log-odds of the goodness, and the term is the mean over
    the layers' terms, each local to its layer. In Task IL every earlier task's labels are distilled
    by themselves. Memory: one copy of the weights; no example.

    Parameters
    ----------
    strength
        Weight of the term.
    temperature
        T, by which logits are divided.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = LwF()
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> sorted(strategy.parameter_state)
    ['last']
    """

    def __init__(
        self,
        strength: float = 1.0,
        temperature: float = 2.0,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(seed, batch_size)
        if not strength >= 0 or not temperature > 0:
            raise ConfigurationError(
                "LwF needs a strength of 0 or more and a temperature above 0, got "
                f"{strength} and {temperature}"
            )
        self.strength = strength
        self.temperature = temperature

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Keep the weights, and which labels they know."""
        if not self.strength:
            return
        self.parameter_state["last"] = snapshot(named(learner))
        self.buffers["known"] = torch.tensor(len(learner.classes))
        if learner.tasks:
            self.buffers["tasks"] = torch.tensor(sorted(learner.tasks))

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse weights and labels that are not those of an earlier network."""
        if "known" not in self.buffers and "last" not in self.parameter_state:
            return
        known = int(checked(self.buffers, "known", (), INTEGERS))
        if not 0 < known <= len(learner.classes):
            raise ModelFileError(f"the buffer 'known' is {known}")
        if learner.tasks:
            check_tasks(checked(self.buffers, "tasks", (None,), INTEGERS), "tasks", learner)
        if "last" not in self.parameter_state:
            raise ModelFileError("the earlier weights are missing")
        for name, tensor in self.parameter_state["last"].items():
            if tensor.dtype != named(learner)[name].dtype:
                raise ModelFileError(f"the earlier {name[:60]} is of type {tensor.dtype}")

    def extra_loss(self, learner: Learner, batch: Batch, clock: Clock) -> Tensor | None:
        """Return the distillation term of the batch."""
        if "known" not in self.buffers:
            return None
        tasks: list[Task] = [None]
        if batch.task is not None:
            tasks = self.buffers["tasks"].tolist()
        terms = [self._divergence(learner, batch.x, task) for task in tasks]
        return self.strength * torch.stack(terms).mean()

    def _divergence(self, learner: Learner, x: Tensor, task: Task) -> Tensor:
        """Return the divergence from the earlier network over the labels that it knew."""
        with torch.no_grad(), weights_of(learner, self.parameter_state["last"]):
            before = self._log_softmax(learner.logits(x, task))
        now = self._log_softmax(learner.logits(x, task))
        apart = (before.exp() * (before - now)).sum(dim=-1).mean()
        return self.temperature**2 * apart

    def _log_softmax(self, logits: Tensor) -> Tensor:
        known = logits[..., : int(self.buffers["known"])] / self.temperature
        return known.log_softmax(dim=-1)


@contextmanager
def weights_of(learner: Learner, tensors: dict[str, Tensor]) -> Iterator[None]:
    """Lend other weights to a learner; those it has are put back afterwards."""
    swapped = [(p, p.data, tensors[name]) for name, p in named(learner).items() if name in tensors]
    try:
        for parameter, _, other in swapped:
            parameter.data = other
        yield
    finally:
        for parameter, own, _ in swapped:
            parameter.data = own
