"""What the classifiers for scikit-learn share: from a table to a network and back."""

from __future__ import annotations

import copy
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sffa.continual import METHODS, Strategy, make_strategy, options_of
from sffa.core import Callback, Epoch, Network, Progress, Trainer
from sffa.core.presets import PRESETS
from sffa.errors import ConfigurationError, DataError, nearest
from sffa.extension import is_reference
from sffa.integrations import validation
from sffa.integrations.defaults import batch_for, epochs_for, hidden_for
from sffa.integrations.incremental import Incremental, Plan
from sffa.integrations.validation import Labels, Table

_LEAST = 1e-9


class ForwardForwardClassifier(ClassifierMixin, BaseEstimator):
    """A classifier around a network; parameters are stored as given and read when fitting."""

    _algorithm: ClassVar[str]
    _preset: ClassVar[str]

    def __init__(
        self,
        hidden: int | tuple[int, ...] | str = "auto",
        *,
        gate: float | str | None = "auto",
        network: dict[str, Any] | None = None,
        epochs: int | str = "auto",
        batch_size: int | str = "auto",
        lr: float = 3e-3,
        negatives: str = "all",
        standardise: bool = True,
        continual: str | None = "replay",
        buffer_size: int = 500,
        continual_options: dict[str, Any] | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden = hidden
        self.gate = gate
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.negatives = negatives
        self.standardise = standardise
        self.continual = continual
        self.buffer_size = buffer_size
        self.continual_options = continual_options
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn a table from the beginning; with ``warm_start``, from where the last fit ended."""
        anew = not (self.warm_start and hasattr(self, "network_"))
        table, labels = validation.labelled(self, X, y, reset=anew)
        present = np.unique(labels)
        if len(present) < 2 and anew:
            raise DataError(
                "fit needs at least two classes to tell apart, got one class only: "
                f"{present.tolist()[0]!r}; to learn one class after the other use partial_fit"
            )
        return self._learn(table, labels, present, anew)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more examples, of classes known or new; what was learned before is protected.

        One call is one experience: it passes ``epochs`` times over its examples, and ``continual``
        says what keeps earlier ones from being forgotten. ``classes`` may name classes that come
        later, which are then known, and can be predicted, from now on.
        """
        anew = not hasattr(self, "network_")
        table, labels = validation.labelled(self, X, y, reset=anew)
        named = np.unique(labels if classes is None else np.asarray(classes))
        if classes is not None and not np.isin(np.unique(labels), named).all():
            strange = np.setdiff1d(labels, named).tolist()
            raise DataError(f"y holds {strange[:5]}, which are not in classes={named.tolist()}")
        return self._learn(table, labels, named, anew)

    def decision_function(self, X: Any) -> Table:
        """Return the goodness of each class (examples, classes), the mean over the layers.

        With two classes, how much better the second is than the first (examples,).
        """
        goodness = self._goodness(X)
        return goodness[:, 1] - goodness[:, 0] if goodness.shape[1] == 2 else goodness

    def predict(self, X: Any) -> Labels:
        """Return the class with the largest goodness for each example."""
        best = self._goodness(X).argmax(axis=1)
        labels: Labels = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> Table:
        """Return the probability of each class (examples, classes); rows sum to one.

        The network judges each label by itself. Given that one label is right and the others are
        not, its probability is in proportion to its odds, p / (1 − p).
        """
        goodness = self._goodness(X)
        if self._algorithm == "ffa":
            logit = goodness
        else:
            share = goodness.clip(_LEAST, 1 - _LEAST)
            logit = np.log(share) - np.log1p(-share)
        odds = np.exp(logit - logit.max(axis=1, keepdims=True))
        probability: Table = odds / odds.sum(axis=1, keepdims=True)
        return probability

    def predict_log_proba(self, X: Any) -> Table:
        """Return the logarithm of `predict_proba`."""
        logarithm: Table = np.log(self.predict_proba(X).clip(np.finfo(float).tiny))
        return logarithm

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; a class never learned counts as wrong, with a warning.

        It is not an error, as a fold of a cross-validation may lack a rare class.
        """
        check_is_fitted(self, "network_")
        labels = np.asarray(y).reshape(-1)
        if len(labels):
            self._same_kind(labels)
            strange = np.setdiff1d(labels, self.classes_).tolist()
            if strange:
                warnings.warn(
                    f"labels {strange[:5]} were never learned and count as wrong; "
                    f"known: {self.classes_[:10].tolist()}",
                    UserWarning,
                    stacklevel=2,
                )
        return float(super().score(X, y, sample_weight))

    def _goodness(self, X: Any) -> Table:
        """Return the network's scores with columns as in ``classes_``.

        FFA sums over all neurons, and how a product is cut into blocks would show in the last
        digits of single precision; in double an example's scores do not depend on its neighbours.
        """
        check_is_fitted(self, "network_")
        table = torch.from_numpy(self._inputs(validation.examples(self, X)))
        network = self.network_
        if self._algorithm == "ffa":
            network = copy.deepcopy(network).double()
        scores: Table = network.scores(table).double().numpy()
        return scores[:, self._columns]

    def _inputs(self, table: Table) -> Table:
        if not self.standardise:
            return table.astype(np.float32)
        return validation.within_reach(table, self.mean_, self.scale_)

    def _learn(self, table: Table, labels: Labels, named: Labels, anew: bool) -> Self:
        plan = self._plan(len(table))
        if anew:
            self._begin(table, plan.batch_size)
        self._meet(named)
        self._incremental.meet(np.unique(self._encode(labels)).tolist())
        x = torch.from_numpy(self._inputs(table))
        y = torch.from_numpy(self._encode(labels))
        history = self._incremental.learn(x, y, plan, [_Print()] if self.verbose else [])
        self.n_iter_ = len(history)
        self.loss_curve_ = [epoch.loss for epoch in history]
        self.validation_scores_ = [
            epoch.accuracy["validation"] / 100 for epoch in history if epoch.accuracy
        ]
        return self

    def _plan(self, examples: int) -> Plan:
        if self.early_stopping and not 0 < self.validation_fraction < 1:
            raise ConfigurationError(
                f"validation_fraction must lie in (0, 1), got {self.validation_fraction}"
            )
        batch_size = _number("batch_size", self.batch_size, batch_for(examples))
        return Plan(
            _number("epochs", self.epochs, epochs_for(examples, batch_size)),
            batch_size,
            self.validation_fraction if self.early_stopping else 0.0,
            self.patience,
        )

    def _begin(self, table: Table, batch_size: int) -> None:
        """Make a network for this table, knowing no class, and what trains and protects it."""
        seed = _seed(self.random_state)
        network = self._make_network(table.shape[1], seed)
        if self.standardise:
            self.mean_, self.scale_ = validation.checked_moments(table)
            network.standardise(torch.from_numpy(self.mean_), torch.from_numpy(self.scale_))
        trainer = Trainer(network, lr=self.lr, negatives=self.negatives, seed=seed)  # type: ignore[arg-type]
        self._incremental = Incremental(trainer, self._make_strategy(seed, batch_size))
        self.network_ = network
        self.strategy_ = self._incremental.strategy
        self.classes_ = np.empty(0)
        self._columns = np.empty(0, np.int64)

    def _make_network(self, features: int, seed: int) -> Network:
        hidden = hidden_for(features) if self.hidden == "auto" else self.hidden
        if isinstance(hidden, str):
            raise ConfigurationError(f"hidden is 'auto' or layer widths, got '{hidden}'")
        hidden = (hidden,) if isinstance(hidden, int) else hidden
        given = {**PRESETS[self._preset].options("static"), **(self.network or {})}
        if self.gate != "auto":
            given["gate"] = self.gate
        elif "gate" not in (self.network or {}) and "gate" in given:
            fits = min(hidden, default=0) // 2 * given["gate"] >= given.get("k", 15)
            given["gate"] = given["gate"] if fits else None  # a share must hold the winners
        return Network(features, hidden, seed=seed, **given)

    def _make_strategy(self, seed: int, batch_size: int) -> Strategy:
        """Make what protects old classes; a buffer is shared by the classes, not by the calls."""
        method = "naive" if self.continual is None else self.continual
        known = [name for name in METHODS if name != "joint"]
        options = dict(self.continual_options or {})
        for part in method.split("+"):
            if part not in known and not is_reference(part):
                raise ConfigurationError(
                    f"unknown continual='{method}'{nearest(part, known)} "
                    f"(known: None, {', '.join(known)}; join them with +)"
                )
            if "capacity" in options_of(part):
                options.setdefault(f"{part}.capacity", self.buffer_size)
            if part == "replay":
                options.setdefault("replay.policy", "class")
        return make_strategy(method.split("+"), options, seed=seed, batch_size=batch_size)

    def _meet(self, named: Labels) -> None:
        """Let the network know the classes, which it counts in the order they come."""
        known = self.classes_
        self._same_kind(named)
        new = np.setdiff1d(named, known) if len(known) else named
        if not len(new):
            return
        first = len(known)
        self._incremental.meet(range(first, first + len(new)))
        names = np.concatenate([known, new]) if first else new
        columns = np.concatenate([self._columns, np.arange(first, first + len(new))])
        order = np.argsort(names)
        self.classes_, self._columns = names[order], columns[order]

    def _same_kind(self, labels: Labels) -> None:
        """Refuse strings where numbers were learned, and numbers where strings were."""
        known = self.classes_
        if len(known) and validation.kind(known) != validation.kind(labels):
            raise DataError(
                f"labels are {validation.kind(labels)}, but the classes learned so far are "
                f"{validation.kind(known)}: {known[:5].tolist()}"
            )

    def _encode(self, labels: Labels) -> Table:
        return self._columns[np.searchsorted(self.classes_, labels)]


class _Print(Callback):
    """Print a line an epoch."""

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        held = "".join(f", held out {value:.2f} %" for value in epoch.accuracy.values())
        print(f"epoch {progress.epoch + 1}: loss {epoch.loss:.4f}{held}")


def _number(name: str, given: int | str, automatic: int) -> int:
    """Read a positive number, or ``"auto"``."""
    if isinstance(given, str):
        if given != "auto":
            raise ConfigurationError(f"{name} is 'auto' or a positive number, got '{given}'")
        return automatic
    if given < 1:
        raise ConfigurationError(f"{name} must be at least 1, got {given}")
    return int(given)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed; without a state a fresh one, and never from numpy's global generator."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
