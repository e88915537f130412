"""Options that cannot work are refused when they are given, in one line that says what to do."""

from __future__ import annotations

import pytest
import torch

from sffa import Backprop, Network, Trainer
from sffa.core import PRESETS, Callback, make
from sffa.errors import ConfigurationError, DataError


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"hidden": (101,)}, "width 101 is odd.*use 102"),
        ({"hidden": (20,), "k": 11}, "k = 11 winners do not fit into a half of 10"),
        ({"hidden": ()}, "hidden"),
        ({"hidden": (0,)}, "positive"),
        ({"hidden": (10**7, 10**7)}, "GB to train, this machine has"),
        ({"hidden": (40, -2)}, "positive"),
        ({"k": 0}, "option 'k' = 0"),
        ({"gate": 0.0}, r"gate must lie in \(0, 1\]"),
        ({"gate": 1.5}, r"gate must lie in \(0, 1\]"),
        ({"gate": "joint"}, "gate"),
        ({"gate": 0.1, "hidden": (100,)}, "fewer than its 15 winners"),
        ({"gate": 0.1, "hidden": (100,), "classes": ()}, "fewer than its 15 winners"),
        ({"gate": "disjoint", "hidden": (100,)}, "10 disjoint shares leave 5 of 50"),
        ({"gate": "disjoint", "classes": ()}, "needs classes or planned_classes"),
        ({"algorithm": "sfa"}, "algorithm"),
        ({"activation": "tanh"}, "activation"),
        ({"norm": "l2"}, "norm"),
        ({"hiden": (4,)}, "unknown option 'hiden'; did you mean 'hidden'"),
        ({"clamp": 0.5}, "clamp"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"temperature": 0.0}, "temperature"),
        ({"objective": "contrast", "coupling": "product"}, "local to a layer"),
        ({"init": "blocks"}, "init"),
        ({"alpha": float("nan")}, "alpha"),
        ({"code_density": 1.0}, "code_density"),
        ({"seed": -1}, "seed"),
        ({"backend": "cuda"}, "unknown backend 'cuda'"),
    ],
    ids=str,
)
def test_a_network_that_cannot_work_is_refused(options, reason):
    given = {"hidden": (100, 100), "classes": range(10), **options}
    with pytest.raises(ConfigurationError, match=reason) as caught:
        Network(64, **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("widths", [(1,), (7, 13)])
def test_odd_widths_are_welcome_in_ffa(widths):
    net = Network(4, hidden=widths, algorithm="ffa", classes=range(3))
    assert net.scores(torch.ones(2, 4)).shape == (2, 3)


@pytest.mark.parametrize("algorithm", PRESETS)
def test_every_name_makes_a_learner_that_options_can_change(algorithm):
    net = make(algorithm, 5, hidden=(160,), classes=(4, 2), seed=3)
    assert net.config.seed == 3
    assert net.config.hidden == (160,)
    assert net.predict(torch.ones(1, 5)).item() in (4, 2)


def test_an_unknown_algorithm_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigurationError, match=r"unknown algorithm 'sfffa'; did you mean 'sffa'"):
        make("sfffa", 4)
    with pytest.raises(ConfigurationError, match="unknown option 'gate'"):
        make("bp", 4, gate=0.3)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"negatives": "hardd"}, "unknown negatives 'hardd'; did you mean 'hard'"),
        ({"schedule": "greedi"}, "unknown schedule 'greedi'; did you mean 'greedy'"),
        ({"lr": 0.0}, "lr must be positive"),
        ({"lr": float("nan")}, "lr must be positive"),
        ({"seed": -3}, "seed must not be negative"),
    ],
)
def test_a_trainer_that_cannot_work_is_refused(options, reason):
    with pytest.raises(ConfigurationError, match=reason):
        Trainer(make("sffa", 4, hidden=(40,), classes=range(2)), **options)


@pytest.mark.parametrize("options", [{"negatives": "hard"}, {"schedule": "greedy"}])
def test_back_propagation_has_neither_negatives_nor_a_greedy_schedule(options):
    with pytest.raises(ConfigurationError, match="Backprop has no negatives"):
        Trainer(make("bp", 4, hidden=(8,), classes=range(2)), **options)


def test_coupled_layers_are_not_trained_one_by_one():
    net = make("sffa", 4, hidden=(40,), classes=range(2), coupling="product")
    with pytest.raises(ConfigurationError, match="trains all layers at once"):
        Trainer(net, schedule="greedy").step(torch.ones(2, 4), torch.tensor([0, 1]))


def test_a_fit_that_cannot_work_is_refused_before_it_starts():
    net = make("sffa", 4, hidden=(40,), classes=range(2))
    teacher, x, y = Trainer(net), torch.ones(4, 4), torch.tensor([0, 1, 0, 1])
    for options in ({"batch_size": 0}, {"epochs": -1}):
        with pytest.raises(ConfigurationError, match="must be a whole number"):
            teacher.fit(x, y, **options)
    for size in (2, 6):
        with pytest.raises(DataError, match=r"as many labels as examples, got 4 and \d"):
            teacher.fit(x, torch.zeros(size, dtype=torch.long))
    with pytest.raises(DataError, match="got 0 and 0"):
        teacher.fit(x[:0], y[:0])
    with pytest.raises(DataError, match=r"example 0 has a value that is not finite: nan"):
        teacher.fit(x * torch.nan, y)


@pytest.mark.parametrize("std", [0.0, -1.0, float("nan")])
def test_a_std_that_cannot_divide_is_refused(std):
    net = make("sffa", 4, hidden=(40,), classes=range(2))
    with pytest.raises(ConfigurationError, match="std must be positive"):
        net.standardise(0.0, torch.tensor([1.0, 1.0, std, 1.0]))
    with pytest.raises(ConfigurationError, match="mean has 3 values, expected 1 or 4"):
        net.standardise(torch.zeros(3), 1.0)


def test_fit_tells_what_each_epoch_came_to(digits):
    x, y = digits
    net = make("sffa", 64, hidden=(60, 60), k=5, classes=range(10))
    teacher = Trainer(net, lr=1e-2, schedule="greedy")
    seen, batches = [], []

    class Look(Callback):
        def on_batch_end(self, progress):
            batches.append((progress.batch, progress.batches))

        def on_epoch_end(self, progress, epoch):
            seen.append(epoch)

    history = teacher.fit(
        x[:90],
        y[:90],
        epochs=2,
        batch_size=40,
        watch={"train": (x[:90], y[:90]), "test": (x[90:], y[90:])},
        callbacks=[Look()],
    )
    assert seen == history
    assert [(e.number, e.layer) for e in history] == [(1, 0), (2, 0), (3, 1), (4, 1)]
    assert batches == [(1, 3), (2, 3), (3, 3)] * 4
    last = history[-1]
    assert set(last.accuracy) == {"train", "test"}
    assert [len(layers) for layers in last.layer_accuracy.values()] == [2, 2]
    right = (net.predict(x[90:]) == y[90:]).float().mean().item()
    assert last.accuracy["test"] == pytest.approx(100 * right, abs=1e-3)


def test_one_width_needs_brackets() -> None:
    for kind in (Network, Backprop):
        with pytest.raises(ConfigurationError, match=r"such as \[200\]"):
            kind(64, hidden=200)


def test_numbers_that_are_none_are_no_class() -> None:
    net = Network(4, hidden=(8,), k=2, classes=range(2))
    x = torch.ones(3, 4)
    x[1, 2] = torch.nan
    with pytest.raises(DataError, match="example 1 "):
        net.predict(x)


def test_back_propagation_that_cannot_fit_is_refused_before_its_memory_is_asked_for() -> None:
    with pytest.raises(ConfigurationError, match="GB to train, this machine has"):
        Backprop(10, hidden=(10**7, 10**7))
