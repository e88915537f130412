"""Dark experience replay, DER++ (Buzzega 2020): stored examples with the logits they had."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from sffa.continual.strategies.buffer import Policy
from sffa.continual.strategies.replay import Replay
from sffa.continual.strategies.restored import checked
from sffa.continual.stream import AnyStream, Experience
from sffa.core import Learner
from sffa.core.batch import Batch, Clock, part_of
from sffa.core.seeds import generator
from sffa.errors import ConfigurationError, ModelFileError


class DERPP(Replay):
    """Add alpha·‖z − z∗‖² of stored examples, and beta·(the loss of others), to the loss.

    z∗ are the logits that a stored example had at the end of its experience, over the labels known
    then; ‖·‖² is the mean over them. For forward-forward learners logits are the log-odds of each
    layer's goodness, every layer compared with its own, so that the term stays local. Examples are
    chosen as in `Replay`, after an experience (the paper: from every batch). Memory: ``capacity``
    examples with layers·labels logits each.

    Parameters
    ----------
    capacity, batch, policy
        As in `Replay`; a random choice from all examples seen unless given.
    alpha, beta
        Weights of the two terms.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = DERPP(capacity=50)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> tuple(strategy.buffers["logits"].shape)  # layers, examples, labels
    (1, 50, 10)
    """

    def __init__(
        self,
        capacity: int = 500,
        batch: int | None = None,
        policy: Policy = "reservoir",
        alpha: float = 0.1,
        beta: float = 0.5,
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(capacity, batch, policy, seed=seed, batch_size=batch_size)
        if not alpha >= 0 or not beta >= 0:
            raise ConfigurationError(f"alpha and beta of DER++ are 0 or more, got {alpha}, {beta}")
        self.alpha = alpha
        self.beta = beta

    def extra_batch(self, clock: Clock) -> Batch | None:
        """Return none: stored examples have terms of their own."""
        return None

    def extra_loss(self, learner: Learner, batch: Batch, clock: Clock) -> Tensor | None:
        """Return both terms, each of a draw of its own."""
        if not len(self.buffers.get("y", ())):
            return None
        rng = generator(self.seed, "derpp", clock.experience, clock.epoch, clock.batch)
        most = self.batch or self.batch_size
        count = len(self.buffers["y"])
        dark, plain = (torch.from_numpy(rng.permutation(count)[:most]) for _ in range(2))
        x, _, task = self._stored(dark)
        wanted = self.buffers["logits"][:, dark]
        found = learner.logits(x, task)[..., : wanted.shape[-1]]
        known = wanted.isfinite() & found.isfinite()
        apart = torch.where(known, found, 0.0) - torch.where(known, wanted, 0.0)
        return self.alpha * apart.square().sum() / known.sum() + self.beta * learner.loss(
            *self._stored(plain)
        )

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Choose examples as replay does, and keep the logits that the new ones have now."""
        old = {name: self.buffers[name] for name in ("key", "logits") if name in self.buffers}
        super().after_experience(learner, experience)
        if not self.capacity:
            return
        keys = self.buffers["key"]
        fresh = ~torch.isin(keys, old["key"]) if old else torch.ones(len(keys), dtype=torch.bool)
        if old and not bool(fresh.any()):
            stays = (keys[:, None] == old["key"]).int().argmax(dim=1)
            self.buffers["logits"] = old["logits"][:, stays]
            return
        found = self._logits(learner, fresh.nonzero().squeeze(1))
        width = found.shape[-1] if not old else max(found.shape[-1], old["logits"].shape[-1])
        logits = torch.full((len(found), len(keys), width), -torch.inf)
        logits[:, fresh] = _padded(found, width)
        if old:
            stays = (keys[~fresh, None] == old["key"]).int().argmax(dim=1)
            logits[:, ~fresh] = _padded(old["logits"][:, stays], width)
        self.buffers["logits"] = logits

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse logits that are not those of the stored examples over known labels."""
        super().check_restored(learner, stream)
        if not len(self.buffers.get("y", ())):
            return
        found = self.buffers.get("logits", torch.empty(0))
        finite = {"logits": found.nan_to_num(nan=torch.inf, neginf=0.0)}
        known = self._logits(learner, torch.arange(1))
        checked(finite, "logits", (len(known), len(self.buffers["y"]), None))
        if not 0 < found.shape[-1] <= len(learner.classes):
            raise ModelFileError(f"the buffer 'logits' is of {found.shape[-1]} labels")

    @torch.no_grad()
    def _logits(self, learner: Learner, places: Tensor) -> Tensor:
        """Return the logits (layers, places, candidates) of stored examples."""
        x, _, task = self._stored(places)
        size = self.batch_size
        parts = range(0, max(len(x), 1), size)
        found = [learner.logits(x[s : s + size], part_of(task, s, size)) for s in parts]
        return torch.cat(found, dim=1).cpu()


def _padded(logits: Tensor, width: int) -> Tensor:
    """Return logits with a column for each of ``width`` labels; those not known are -inf."""
    return F.pad(logits, (0, width - logits.shape[-1]), value=-torch.inf)
