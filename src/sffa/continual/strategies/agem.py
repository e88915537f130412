"""A-GEM (Chaudhry 2019): one gradient for the whole past."""

from __future__ import annotations

from sffa.continual.strategies.episodes import EpisodePolicy, EpisodicMemory
from sffa.continual.strategies.gem import gram_matrix
from sffa.core import Learner
from sffa.core.batch import Batch, Clock, join
from sffa.errors import ConfigurationError


class AGEM(EpisodicMemory):
    """Take from a gradient what goes against the gradient of a sample of all stored examples.

    Parameters
    ----------
    patterns
        Examples kept of each experience.
    sample
        Stored examples drawn in each step, the same number of each experience, or class.
    policy
        As in `GEM`.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = AGEM(patterns=10)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> tuple(strategy.buffers["x.4"].shape)  # of the fifth experience
    (10, 64)
    """

    def __init__(
        self,
        patterns: int = 100,
        sample: int = 100,
        policy: EpisodePolicy = "experience",
        *,
        seed: int = 0,
        batch_size: int = 512,
    ) -> None:
        super().__init__(patterns, policy, seed=seed, batch_size=batch_size)
        if sample < 1:
            raise ConfigurationError(f"a-gem.sample must be 1 or more, got {sample}")
        self.sample = sample

    def after_backward(self, learner: Learner, clock: Clock) -> None:
        """Project the current gradient if its product with the past one is negative."""
        past = self.past(clock)
        if not past:
            return
        rows = self.rows(learner, 2)
        self.write(rows[1], learner, self.drawn(past, clock))
        self.write_current(rows[0], learner)
        gram = gram_matrix(rows)
        if gram[0, 1] < 0:
            rows[0].sub_(rows[1], alpha=gram[0, 1] / gram[1, 1])
            self.read_current(rows[0], learner)

    def drawn(self, past: list[Batch], clock: Clock) -> Batch:
        """Return the stored examples of this step, as many of each past experience."""
        return join(self.draw_each(past, max(self.sample // len(past), 1), "a-gem", clock))
