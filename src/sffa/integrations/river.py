"""River: one example at a time, as a dictionary of features. Needs the extra ``river``."""

from __future__ import annotations

from typing import Any

import numpy as np

from sffa.errors import ConfigurationError
from sffa.integrations import sklearn

try:
    from river import base
except ImportError:
    raise ConfigurationError(
        "river is not installed; install it with pip install 'sffa[river]'"
    ) from None

__all__ = ["SFFAClassifier"]


class SFFAClassifier(base.Classifier):
    """`sffa.SFFAClassifier` for streams of River: any class, at any time.

    The features are those of the first example, by their names. One that is absent later counts as
    its mean so far, one that is new is left out; so do features that are no numbers.

    Parameters
    ----------
    hidden
        Layer widths; ``"auto"``: two layers as wide as the number of features suggests.
    lr
        Adam's step size.
    continual
        What protects old classes: see `sffa.SFFAClassifier`.
    seed
        Of weights, codes, gates and buffers.

    Examples
    --------
    >>> from river import datasets
    >>> model = SFFAClassifier(hidden=(40,), seed=1)
    >>> for x, y in datasets.Phishing().take(30):
    ...     model.learn_one(x, y)
    >>> sorted(model.predict_proba_one(x))
    [False, True]
    """

    def __init__(
        self,
        hidden: int | tuple[int, ...] | str = "auto",
        lr: float = 3e-3,
        continual: str | None = "replay",
        seed: int = 0,
    ) -> None:
        self.hidden = hidden
        self.lr = lr
        self.continual = continual
        self.seed = seed
        self._features: tuple[Any, ...] = ()
        self._classifier: sklearn.SFFAClassifier | None = None

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one example."""
        if self._classifier is None:
            known = (name for name, value in x.items() if isinstance(value, int | float))
            self._features = tuple(sorted(known, key=str))
            self._classifier = sklearn.SFFAClassifier(
                self.hidden,
                lr=self.lr,
                continual=self.continual,
                epochs=1,
                network={} if self.hidden == "auto" else {"k": _winners(self.hidden)},
                random_state=self.seed,
            )
        self._classifier.partial_fit(self._row(x), np.array([y]))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each class met so far."""
        if self._classifier is None:
            return {}
        shares = self._classifier.predict_proba(self._row(x))[0]
        return dict(zip(self._classifier.classes_.tolist(), shares.tolist(), strict=True))

    def _row(self, x: dict[Any, Any]) -> Any:
        means = getattr(self._classifier, "mean_", np.zeros(len(self._features)))
        values = [x.get(name, mean) for name, mean in zip(self._features, means, strict=True)]
        return np.array([values], np.float64)


def _winners(hidden: int | tuple[int, ...] | str) -> int:
    """Return as many winners as fit into a narrow layer, at most the paper's."""
    widths = hidden if isinstance(hidden, tuple) else (hidden,)
    return min(15, *(int(width) // 4 for width in widths))
