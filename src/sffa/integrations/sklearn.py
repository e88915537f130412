"""Classifiers for scikit-learn: SFFA and FFA on a table, and new classes at any time."""

from __future__ import annotations

from sffa.integrations.estimator import ForwardForwardClassifier

__all__ = ["FFAClassifier", "SFFAClassifier"]


class SFFAClassifier(ForwardForwardClassifier):
    """The Symmetric Forward-Forward Algorithm as a scikit-learn classifier.

    Parameters
    ----------
    hidden
        Layer widths; ``"auto"``: two layers of 200, from 250
        features on of 400.
    gate
        Share of the neurons that a label may use; ``"auto"``: no gate.
    network
        Other fields of `sffa.core.NetworkConfig`, such as ``{"k": 10}``.
    epochs, batch_size
        Passes over the examples of a call, and examples in a step; ``"auto"``: from their number,
        few in `partial_fit`.
    lr
        Adam's step size, from which it falls to nothing over a `fit`; ``"auto"``: by the number
        of features, smaller and constant in `partial_fit`.
    negatives
        Labels an example is contrasted with: ``"all"``, one wrong one that is ``"uniform"`` or
        ``"hard"``, or a `sffa.core.NegativeScheme`; ``"auto"``: eight, the wrong ones drawn anew
        in every step.
    standardise
        Subtract the mean and divide by the deviation of each feature, over all examples so far.
    class_weight
        None, ``"balanced"``, or the weight of each class by its name.
    continual
        What protects old classes in `partial_fit`: a name of `sffa.continual.METHODS` such as
        ``"gaussian"``, ``"replay"`` or ``"ewc"``, several joined by ``+``, or None.
    buffer_size
        Examples that replay keeps, shared equally by the classes.
    continual_options
        Options of the strategies, as in ``{"ewc.strength": 10}``.
    early_stopping, validation_fraction, patience
        Hold a share of each class out, stop when its accuracy has not risen for that many epochs,
        and go back to the best; ``"auto"``: where `fit` has 5,000 rows or more.
    warm_start
        Let `fit` go on from the last one; the classes may be others.
    random_state
        Seed of weights, codes, gates, order and buffers.
    verbose
        Print a line an epoch: loss, accuracy, time, and what remains.

    Attributes
    ----------
    classes_
        The classes met, sorted.
    network_
        The `sffa.Network`; its classes count in the order they were met.
    strategy_
        What protects old classes; its ``megabytes`` are what is kept of them.
    n_iter_, loss_curve_, validation_scores_
        Epochs of the last call, with the loss and the accuracy held out after each.
    mean_, scale_
        What is subtracted from, and divides, each feature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SFFAClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _algorithm = "sffa"
    _preset = "sffa-classifier"


class FFAClassifier(ForwardForwardClassifier):
    """The Forward-Forward Algorithm as a scikit-learn classifier.

    Parameters and attributes are those of `SFFAClassifier`. There is no gate unless given, and
    goodness is 0.01 times the sum of squares, as in the paper's continual experiments.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> FFAClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    _algorithm = "ffa"
    _preset = "ffa"
