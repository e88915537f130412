"""What the classifiers for scikit-learn share: from a table to a network and back."""

from __future__ import annotations

import copy
import math
import time
import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sffa.core import Callback, Epoch, Network, Progress, Trainer
from sffa.core.trainer import DivergedError
from sffa.errors import DataError
from sffa.integrations import defaults, parameters, validation
from sffa.integrations.incremental import Incremental, Plan
from sffa.integrations.sparse_tables import blocks, check_room
from sffa.integrations.validation import Labels, Table
from sffa.standardise import RunningMoments

_LEAST = 1e-9
_HEAVIEST = 1e4  # a weight beyond this, where inputs are standardised, is that of a step too large
_NEAR = 0.1  # Adam's steps that come to less than this, step sizes added up, throw no weight far
_ENOUGH_EPOCHS = 10  # after which a loss should have fallen
_ROWS = 8  # a multiple of this many are scored at once
# What pickles of earlier versions do not have.
_LATER = {"class_weight": None, "_moments": None}


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
        lr: float | str = "auto",
        negatives: str = "auto",
        standardise: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        continual: str | None = "gaussian",
        buffer_size: int = 500,
        continual_options: dict[str, Any] | None = None,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        patience: int = 10,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.hidden = hidden
        self.gate = gate
        self.network = network
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.negatives = negatives
        self.standardise = standardise
        self.class_weight = class_weight
        self.continual = continual
        self.buffer_size = buffer_size
        self.continual_options = continual_options
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickle, that of an earlier version too."""
        super().__setstate__({**_LATER, **state})

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that tables may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a table from the beginning; with ``warm_start``, from where the last fit ended.

        A row of weight n counts as n equal rows, to the bit; their order does not matter.
        """
        anew = not (self.warm_start and hasattr(self, "network_"))
        table, labels = validation.labelled(self, X, y, reset=anew)
        given = validation.weights(sample_weight, self.class_weight, table, labels)
        table, labels, weight = validation.distinct(table, labels, given)
        present = np.unique(labels)
        if len(present) < 2 and anew:
            raise DataError(
                "fit needs at least two classes to tell apart, got one class only: "
                f"{present.tolist()[0]!r}; to learn one class after the other use partial_fit"
            )
        examples, features = table.shape
        plan = parameters.fit_plan(self, examples, features, len(present))
        return self._learn(table, labels, weight, present, plan, anew)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more examples, of classes known or new; what was learned before is protected.

        One call is one experience: it passes once over its examples, more often where one is of a
        new class, or ``epochs`` times if given; ``continual`` says what keeps earlier ones from
        being forgotten. ``classes`` may name classes that come later, which are then known, and can
        be predicted, from now on.
        """
        anew = not hasattr(self, "network_")
        table, labels = validation.labelled(self, X, y, reset=anew)
        weight = validation.weights(sample_weight, self.class_weight, table, labels)
        present = np.unique(labels)
        named = present if classes is None else np.unique(np.asarray(classes))
        if classes is not None and not np.isin(present, named).all():
            strange = np.setdiff1d(present, named).tolist()
            raise DataError(f"y holds {strange[:5]}, which are not in classes={named.tolist()}")
        new = anew or len(self._unknown(present)) > 0
        examples, features = table.shape
        plan = parameters.portion_plan(self, examples, features, new)
        return self._learn(table, labels, weight, named, plan, anew)

    def decision_function(self, X: Any) -> Table:
        """Return the score of each class (examples, classes), the mean over the layers.

        It is the log-odds of the goodness, or the goodness itself with ``ranking="energy"``. With
        two classes, how much better the second is than the first (examples,).
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
        not, its probability is in proportion to its odds, p / (1 − p). Where labels compete in
        training (``objective="contrast"``), so do they here, at the same temperature.
        """
        logit, config = self._goodness(X), self.network_.config
        if config.algorithm == "sffa" and config.ranking != "odds":
            share = logit.clip(_LEAST, 1 - _LEAST)
            logit = np.log(share) - np.log1p(-share)
        if config.objective == "contrast":
            logit = logit / config.temperature
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

        An example's scores should not depend on its neighbours, in the last digits either. FFA sums
        over all neurons, so it computes in double precision; for SFFA it is enough that rows are
        never few, as products of one row and of many are rounded in different ways.
        """
        check_is_fitted(self, "network_")
        network = self.network_
        if self._algorithm == "ffa":
            network = copy.deepcopy(network).double()
        found = [
            self._scores(network, self._inputs(part))
            for _, part in blocks(validation.examples(self, X))
        ]
        return np.concatenate(found)[:, self._columns]

    def _scores(self, network: Network, table: Table) -> Table:
        count = len(table)
        if self._algorithm != "ffa" and count % _ROWS:
            given, size = table, count + -count % _ROWS
            table = np.zeros((size, table.shape[1]), table.dtype)
            table[:count] = given
        return network.scores(torch.from_numpy(table)).double().numpy()[:count]

    def _inputs(self, table: Table) -> Table:
        if not self.standardise:
            return table.astype(np.float32)
        return validation.within_reach(table, self.mean_, self.scale_)

    def _learn(
        self,
        table: Table,
        labels: Labels,
        weight: Table | None,
        named: Labels,
        plan: Plan,
        anew: bool,
    ) -> Self:
        self._check_room(table, labels, plan)
        if anew:
            self._begin(table.shape[1], plan)
        self._follow_scale(table, weight)
        self._meet(named)
        columns = self._encode(labels)
        shown = [_Print(plan.epochs)] if self.verbose else []
        if issparse(table):
            x, dense = torch.arange(len(columns))[:, None], partial(self._dense, table)
        else:
            x, dense = torch.from_numpy(self._inputs(table)), None
        y = torch.from_numpy(columns)
        history = self._incremental.learn(x, y, plan, shown, weight, dense)
        self.n_iter_ = len(history)
        self.loss_curve_ = [epoch.loss for epoch in history]
        self._check_training(plan.lr, len(history) * -(-len(y) // plan.batch_size))
        self.validation_scores_ = [
            epoch.accuracy["validation"] / 100
            for epoch in history
            if "validation" in epoch.accuracy
        ]
        return self

    def _dense(self, table: Table, rows: torch.Tensor) -> torch.Tensor:
        """Return the inputs at some rows (N, 1) of a sparse table."""
        return torch.from_numpy(self._inputs(table[rows[:, 0].numpy()].toarray()))

    def _check_room(self, table: Table, labels: Labels, plan: Plan) -> None:
        """Refuse a sparse table if what must be dense of it at once is too much."""
        if not issparse(table):
            return
        held = math.ceil(plan.held_out * len(labels))
        check_room(table, max(held, plan.batch_size, plan.watched), "training")
        if "gaussian" in (self.continual or ""):
            most = np.unique(labels, return_counts=True)[1].max()
            check_room(table, int(most), "continual='gaussian'")

    def _begin(self, features: int, plan: Plan) -> None:
        """Make a network for tables of so many features, and what trains and protects it."""
        seed = parameters.seed_of(self.random_state)
        network = parameters.make_network(self, features, seed)
        given = self.negatives
        negatives = defaults.negatives_for(self._algorithm) if given == "auto" else given
        trainer = Trainer(network, lr=plan.lr, negatives=negatives, seed=seed)
        strategy = parameters.make_strategy(self, seed, plan.batch_size)
        self._incremental = Incremental(trainer, strategy)
        self._moments = RunningMoments() if self.standardise else None
        self.network_ = network
        self.strategy_ = self._incremental.strategy
        self.classes_ = np.empty(0)
        self._columns = np.empty(0, np.int64)

    def _follow_scale(self, table: Table, weight: Table | None) -> None:
        """Take these examples into the mean and the deviation of each feature."""
        if self._moments is None:  # not wanted, or a pickle of when the first call decided
            return
        for rows, part in blocks(table):
            validation.check_range(part)
            self._moments.update(part, None if weight is None else weight[rows])
        self.mean_, self.scale_ = self._moments.mean, self._moments.std
        self.network_.standardise(self.mean_, self.scale_)

    def _check_training(self, lr: float, steps: int) -> None:
        """Refuse a network that steps too large have thrown out of reach; tell of one at rest."""
        if lr * steps < _NEAR and len(self.loss_curve_) < _ENOUGH_EPOCHS:
            return  # a short call of many: there is nothing to be told
        weights = [parameter.detach() for parameter in self.network_.parameters()]
        extremes = torch.stack([bound for each in weights for bound in torch.aminmax(each)])
        heaviest = float(extremes.abs().max())
        usual = defaults.lr_for(self.n_features_in_, self._algorithm)
        lower = f"lower lr={lr:g} (the default is {usual:g})"
        if not heaviest < _HEAVIEST:
            raise DivergedError(f"training diverged: weights grew to {heaviest:.0e}; {lower}")
        config, losses = self.network_.config, self.loss_curve_
        guessing = losses[0]
        if config.objective == "contrast":
            guessing = 0.99 * self.network_.depth * math.log(len(self.classes_))
        alone = not self.strategy_.has_extra_loss  # a strategy's term would be counted too
        if alone and len(losses) >= _ENOUGH_EPOCHS and losses[-1] >= guessing > 0:
            warnings.warn(
                f"nothing was learned in {len(losses)} epochs, the loss is {losses[-1]:.4g}: if "
                f"that is not what the data are like, {lower}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _meet(self, named: Labels) -> None:
        """Let the network know the classes, which it counts in the order they come."""
        known, new = self.classes_, self._unknown(named)
        if not len(new):
            return
        first = len(known)
        self._incremental.meet(range(first, first + len(new)))
        names = np.concatenate([known, new]) if first else new
        columns = np.concatenate([self._columns, np.arange(first, first + len(new))])
        order = np.argsort(names)
        self.classes_, self._columns = names[order], columns[order]

    def _unknown(self, named: Labels) -> Labels:
        """Return those of some classes, each named once, that were not met."""
        known = self.classes_
        self._same_kind(named)
        if not len(known):
            return named
        places = np.minimum(np.searchsorted(known, named), len(known) - 1)
        new: Labels = named[known[places] != named]
        return new

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
    """Print a line an epoch: loss, accuracy, the time it took and what remains."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.started = time.perf_counter()

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        done = progress.epoch + 1
        seconds = time.perf_counter() - self.started
        names = {"validation": "held out", "training": "accuracy"}
        taken = "".join(f", {names[n]} {value:.2f} %" for n, value in epoch.accuracy.items())
        print(
            f"epoch {done} of {self.epochs}: loss {epoch.loss:.4f}{taken}, {seconds:.1f} s, "
            f"at most {seconds / done * (self.epochs - done):.1f} s remain"
        )
