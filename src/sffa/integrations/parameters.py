"""What a classifier's parameters ask for, checked: plans, the network and the strategy."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from sffa import continual
from sffa.core import Network
from sffa.core.presets import PRESETS
from sffa.errors import ConfigurationError, nearest
from sffa.extension import is_reference
from sffa.integrations import defaults, validation
from sffa.integrations.incremental import Plan

if TYPE_CHECKING:
    from sffa.integrations.estimator import ForwardForwardClassifier

_WATCHED = 1000  # rows that verbose takes the accuracy of
# How strategies are made where calls are many and small, unless told otherwise.
_PORTIONS: dict[str, dict[str, Any]] = {
    "gaussian": {"gaussian.dtype": "float32"},
    "a-gem": {"a-gem.patterns": 20, "a-gem.sample": 20},
    "gem": {"gem.sample": 5},
}


def fit_plan(
    classifier: ForwardForwardClassifier, examples: int, features: int, classes: int
) -> Plan:
    """Return how `fit` learns so many examples."""
    usual = defaults.batch_for(examples, classes, classifier._algorithm)
    batch_size = _number("batch_size", classifier.batch_size, usual)
    passes = defaults.epochs_for(examples, batch_size, classifier._algorithm)
    epochs = _number("epochs", classifier.epochs, passes)
    held_out = _held_out(classifier, examples)
    return Plan(
        epochs,
        batch_size,
        _number("lr", classifier.lr, defaults.lr_for(features, classifier._algorithm), whole=False),
        "cosine" if classifier._algorithm == "sffa" else "constant",
        held_out,
        _number("patience", classifier.patience, classifier.patience),
        _WATCHED if classifier.verbose else 0,
    )


def portion_plan(
    classifier: ForwardForwardClassifier, examples: int, features: int, new: bool
) -> Plan:
    """Return how `partial_fit` learns so many examples, some of them of a ``new`` class."""
    few = defaults.portion_batch_for(examples, str(classifier.continual))
    batch_size = _number("batch_size", classifier.batch_size, few)
    passes = defaults.portion_epochs_for(examples, batch_size, new)
    usual = defaults.portion_lr_for(features, classifier._algorithm)
    return Plan(
        _number("epochs", classifier.epochs, passes),
        batch_size,
        _number("lr", classifier.lr, usual, whole=False),
        held_out=_held_out(classifier, examples) if classifier.early_stopping is True else 0.0,
        patience=_number("patience", classifier.patience, classifier.patience),
        watched=_WATCHED if classifier.verbose else 0,
    )


def _held_out(classifier: ForwardForwardClassifier, examples: int) -> float:
    """Return the share of the examples that is held out, 0 where training never stops early."""
    share: Any = classifier.validation_fraction
    if not validation.is_number(share) or not 0 < share < 1:
        raise ConfigurationError(f"validation_fraction must lie in (0, 1), got {share!r}")
    stops = classifier.early_stopping
    if isinstance(stops, str):
        if stops != "auto":
            raise ConfigurationError(f"early_stopping is True, False or 'auto', got '{stops}'")
        stops = examples >= defaults.ENOUGH
    return float(share) if stops else 0.0


def make_network(classifier: ForwardForwardClassifier, features: int, seed: int) -> Network:
    """Return a network for tables of so many features, which decide what is ``"auto"``."""
    hidden: Any = classifier.hidden
    usual = PRESETS[classifier._preset].options("static")
    if isinstance(hidden, str) and hidden == "auto":
        hidden = defaults.hidden_for(features, classifier._algorithm)
    if isinstance(hidden, str | float) or hidden is None:
        raise ConfigurationError(f"hidden is 'auto' or layer widths, got {hidden!r}")
    options: Any = classifier.network or {}
    if not isinstance(options, dict):
        raise ConfigurationError(
            f"network is a dictionary of options such as {{'k': 10}}, got {options!r}"
        )
    hidden = (hidden,) if isinstance(hidden, int) else hidden
    if classifier._algorithm == "sffa":
        usual |= defaults.network_for(features, hidden)
    given = {**usual, **options}
    if classifier.gate != "auto":
        given["gate"] = classifier.gate
    elif "gate" not in options and "gate" in given:
        fits = min(hidden, default=0) // 2 * given["gate"] >= given.get("k", 15)
        given["gate"] = given["gate"] if fits else None  # a share must hold the winners
    return Network(features, hidden, seed=seed, **given)


def make_strategy(
    classifier: ForwardForwardClassifier, seed: int, batch_size: int
) -> continual.Strategy:
    """Make what protects old classes; a buffer is shared by the classes, not by the calls."""
    method: Any = "naive" if classifier.continual is None else classifier.continual
    if not isinstance(method, str):
        raise ConfigurationError(f"continual is None or a name as 'gaussian', got {method!r}")
    known = [name for name in continual.METHODS if name != "joint"]
    options = dict(classifier.continual_options or {})
    for part in method.split("+"):
        if part not in known and not is_reference(part):
            raise ConfigurationError(
                f"unknown continual='{method}'{nearest(part, known)} "
                f"(known: None, {', '.join(known)}; join them with +)"
            )
        known_options = continual.options_of(part)
        if "capacity" in known_options:
            options.setdefault(f"{part}.capacity", classifier.buffer_size)
        if known_options.get("policy") == "experience":  # calls are many, classes are few
            options.setdefault(f"{part}.policy", "class")
        options = {**_PORTIONS.get(part, {}), **options}
    return continual.make_strategy(method.split("+"), options, seed=seed, batch_size=batch_size)


def _number(name: str, given: Any, automatic: Any, *, whole: bool = True) -> Any:
    """Read a positive number, a whole one unless said otherwise, or ``"auto"``."""
    wanted = "a whole number of at least 1" if whole else "a positive number"
    if isinstance(given, str) and given == "auto":
        return automatic
    kind: Any = numbers.Integral if whole else numbers.Real
    if not isinstance(given, kind):
        raise ConfigurationError(f"{name} is 'auto' or {wanted}, got {given!r}")
    if given < 1 and whole:
        raise ConfigurationError(f"{name} must be at least 1, got {given}")
    if not given > 0:
        raise ConfigurationError(f"{name} must be positive, got {given}")
    return int(given) if whole else float(given)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed; without a state a fresh one, and never from numpy's global generator."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ConfigurationError(f"random_state: {error}") from None
