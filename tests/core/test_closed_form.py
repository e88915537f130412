"""Learners in closed form: the same sums in any order, no gradient, the same contract."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.continual.toy import StopAt, small, toy

import sffa
from sffa import Trainer
from sffa.continual import METHODS, ContinualRun, Stopped, run
from sffa.core import make
from sffa.errors import ConfigurationError, DataError, ModelFileError

ALGORITHMS = ("ridge", "slda")


def stream(algorithm: str, **more):
    return small(algorithm, **{"network": {}, "hidden": (100,), "epochs": 2, **more})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_digits_are_told_apart_after_one_pass_and_a_second_changes_nothing(algorithm, digits):
    x, y = digits
    once, twice = (make(algorithm, 64, (300,), range(10)) for _ in range(2))
    Trainer(once).fit(x, y, epochs=1, batch_size=50)
    history = Trainer(twice).fit(x, y, epochs=3, batch_size=50)
    assert len(history) == 3
    assert (once.predict(x) == y).float().mean() > 0.9
    torch.testing.assert_close(once.scores(x), twice.scores(x), rtol=1e-3, atol=1e-3)
    assert not list(once.parameters())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_order_of_experiences_does_not_matter(algorithm):
    data = toy()
    orders = [((0, 1), (2, 3), (4, 5)), ((4, 0), (5, 2), (1, 3)), ((5, 4, 3, 2, 1, 0),)]
    found = []
    for order in orders:
        result = run(stream(algorithm, class_order=order), data)
        learner = result.learner
        columns = [learner.classes.index(label) for label in range(6)]
        found.append(learner.scores(torch.from_numpy(data.test.x))[:, columns])
        assert result.metrics["acc"] > 90
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-3, atol=1e-3)


def test_ridge_solves_the_normal_equations(digits):
    x, y = digits
    net = make("ridge", 64, classes=range(10), features=40, strength=0.1)
    Trainer(net, standardise=False).fit(x, y, batch_size=64)
    phi = net.features(x).double().numpy()
    target = np.eye(10)[y.numpy()]
    penalty = 0.1 * np.square(phi).sum(axis=0).mean() * np.eye(41)
    weight = np.linalg.solve(phi.T @ phi + penalty, phi.T @ target)
    np.testing.assert_allclose(net.scores(x), phi @ weight, atol=1e-3)


def test_slda_agrees_with_scikit_learn(digits):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    x, y = digits
    net = make("slda", 64, classes=range(10), shrinkage=0.1)
    Trainer(net).fit(x, y, batch_size=64)
    z = net.prepare(x).numpy()
    model = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.1] * 10, shrinkage=0.1)
    wanted = model.fit(z, y.numpy()).predict(z)
    assert (net.predict(x).numpy() == wanted).mean() > 0.95


@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_scenario_and_a_stop_at_any_batch(algorithm, scenario, tmp_path):
    config = stream(algorithm, scenario=scenario)
    whole = run(config, toy())
    assert whole.metrics["acc"] > (60 if scenario == "domain" else 90)
    assert whole.experiences[-1]["learner_mb"] > 0
    path = tmp_path / "checkpoint.safetensors"
    for stop in (3, 8, 21):
        with pytest.raises(Stopped):
            run(config, toy(), checkpoint=path, callbacks=[StopAt(stop)])
    again = run(config, toy(), checkpoint=path)
    assert again.rows == whole.rows
    ours, theirs = whole.learner.state_dict(), sffa.load(path).state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_file_gives_the_same_scores(algorithm, digits, tmp_path):
    x, y = digits
    net = make(algorithm, 64, (50,), [3, 1])
    chosen = (y == 3) | (y == 1)
    Trainer(net).fit(x[chosen], y[chosen], batch_size=20)
    net.save(tmp_path / "model.safetensors")
    again = sffa.load(tmp_path / "model.safetensors")
    assert type(again) is type(net)
    assert torch.equal(again.scores(x), net.scores(x))
    assert again.megabytes == net.megabytes > 0
    state = net.header(), net.state_dict()
    state[1]["gram"] = torch.zeros(3, 3)
    sffa.core.storage.write(tmp_path / "bad.safetensors", *state)
    with pytest.raises(ModelFileError, match="gram has the shape"):
        sffa.load(tmp_path / "bad.safetensors")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_scores_before_any_example_are_finite(algorithm):
    assert make(algorithm, 5, (20,), range(3)).scores(torch.ones(2, 5)).isfinite().all()


@pytest.mark.parametrize("method", [name for name in METHODS if name != "naive"])
def test_a_strategy_without_a_gradient_to_work_on_is_one_clear_line(method):
    with pytest.raises(ConfigurationError, match=r"learns in closed form.*use method 'naive'"):
        ContinualRun(stream("ridge", method=method), toy())


def test_wrong_options_and_examples_are_one_clear_line():
    with pytest.raises(ConfigurationError, match="slda has no option 'strength'"):
        stream("slda", network={"strength": 1})
    with pytest.raises(ConfigurationError, match="strength"):
        stream("ridge", network={"strength": 0})
    net = make("ridge", 3, (10,), range(2))
    with pytest.raises(DataError, match="not finite"):
        net.observe(torch.full((1, 3), torch.inf), torch.tensor([0]))
    with pytest.raises(DataError, match="not among the classes met"):
        net.observe(torch.ones(1, 3), torch.tensor([7]))
    with pytest.raises(ConfigurationError, match="learns by gradients"):
        make("bp", 3, (10,), range(2)).observe(torch.ones(1, 3), torch.tensor([0]))
