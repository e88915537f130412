"""ER-ACE (Caccia 2022): replay with an asymmetric cross-entropy."""

from __future__ import annotations

from sffa.continual.strategies.replay import Replay
from sffa.continual.stream import Experience
from sffa.core import Learner


class ERACE(Replay):
    """Replay; new examples compete among the classes at hand, stored ones among all classes seen.

    So new examples never push old outputs down. For forward-forward learners the outputs are the
    labels that a layer contrasts an example with: the definition is the same, and the same as
    replay with ``contrast_with="current"``. In Task and Domain IL it is replay: there the labels
    that compete are those of the task or of the domain anyway.

    Parameters
    ----------
    capacity, batch, policy
        As in `Replay`.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> strategy = ERACE(capacity=50)
    >>> result = run(config, load("digits"), strategy=strategy)
    >>> tuple(strategy.buffers["x"].shape)
    (50, 64)
    """

    def attach(self, learner: Learner) -> None:
        """Let new examples compete among new classes."""
        learner.new_among_new = True

    def before_experience(self, learner: Learner, experience: Experience) -> None:
        """See `attach`: a learner outside a run meets the strategy here."""
        self.attach(learner)
