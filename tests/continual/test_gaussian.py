"""Statistics in place of examples: what they keep, what is drawn, and that no example stays."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.continual.toy import Part, small, toy

from sffa.continual import (
    Batch,
    Clock,
    ContinualRun,
    Experience,
    Gaussian,
    Replay,
    View,
    make_strategy,
    run,
)
from sffa.continual.strategies.mixture import (
    alone,
    concatenate,
    draw,
    fit,
    join_example,
    reduced,
)
from sffa.core.batch import join
from sffa.core.seeds import generator
from sffa.data import from_arrays
from sffa.errors import ConfigurationError, DataError
from sffa.study.presets import SAME_BYTES

SCENARIOS = ("class", "domain", "task")


def experience(x, y, index: int = 0, task=None) -> Experience:
    """Make an experience of arrays, its training examples alone."""
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    view = View(x, y, y, torch.arange(len(y)), task)
    labels = tuple(torch.unique(y).tolist())
    return Experience(index, labels, labels, task, view, view)


def learner_of(features: int):
    return SimpleNamespace(mean=torch.zeros(1), std=torch.ones(1), inputs=features)


def drawn(strategy: Gaussian, batches: int = 20):
    found = [strategy.extra_batch(Clock(1, 0, number)) for number in range(batches)]
    return torch.cat([b.x for b in found]), torch.cat([b.y for b in found])


def test_mean_and_covariance_of_pseudo_examples_are_those_of_the_class():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(12, 12))
    x = (rng.normal(size=(4000, 12)) @ mixing + 3).astype(np.float32)
    strategy = Gaussian(parts=1, rank=12, dtype="float32", batch=2000)
    strategy.after_experience(learner_of(12), experience(x, np.zeros(4000, np.int64)))
    found, _ = drawn(strategy)
    np.testing.assert_allclose(found.mean(dim=0), x.mean(axis=0), atol=0.1)
    wanted = np.cov(x.T)
    np.testing.assert_allclose(np.cov(found.T.numpy()), wanted, atol=0.05 * np.abs(wanted).max())


@pytest.mark.parametrize("rank", [0, 3, 50])
def test_each_features_mean_and_variance_are_exact_at_any_rank(rank):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 9)) ** 3).float()
    mixture = fit(x, 1, rank, np.random.default_rng(0))
    variance = mixture.spread[0].square().sum(dim=0) + mixture.residual[0].square()
    torch.testing.assert_close(mixture.mean[0], x.mean(dim=0), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(variance, x.var(dim=0, correction=0), rtol=1e-4, atol=1e-5)


def test_a_class_of_several_kinds_has_a_part_for_each():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 30)) * 10
    x = torch.from_numpy(np.repeat(centres, 50, axis=0) + rng.normal(size=(200, 30))).float()
    mixture = fit(x, 4, 5, np.random.default_rng(1))
    assert mixture.count.tolist() == [50] * 4
    apart = torch.cdist(mixture.mean, torch.from_numpy(centres).float())
    assert float(apart.amin(dim=1).max()) < 2
    again = draw(mixture, torch.arange(4).repeat(10), np.random.default_rng(2))
    assert float(torch.cdist(again, mixture.mean).amin(dim=1).max()) < 12


def test_a_class_that_comes_back_is_merged_without_its_old_examples():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(600, 10)) * rng.uniform(0.5, 3, 10)).astype(np.float32)
    x[400:] += 4
    y = np.full(600, 7)
    strategy = Gaussian(parts=1, rank=4, dtype="float32", batch=100)
    strategy.after_experience(learner_of(10), experience(x[:400], y[:400]))
    strategy.after_experience(learner_of(10), experience(x[400:], y[400:], 1))
    assert strategy.buffers["count"].tolist() == [600]
    assert strategy.buffers["label"].tolist() == [7]
    np.testing.assert_allclose(strategy.buffers["mean"][0], x.mean(axis=0), atol=1e-4)
    spread, rest = strategy.buffers["spread"][0], strategy.buffers["residual"][0]
    variance = spread.square().sum(dim=0) + rest.square()
    np.testing.assert_allclose(variance, x.var(axis=0), rtol=1e-3)
    several = Gaussian(parts=3, rank=4, batch=100)
    for number, part in enumerate(np.split(np.arange(600), 6)):
        several.after_experience(learner_of(10), experience(x[part], y[part], number))
    assert len(several.buffers["count"]) <= 3
    assert float(several.buffers["count"].sum()) == 600


def covariance(mixture, place):
    spread, residual = mixture.spread[place], mixture.residual[place]
    return spread.T @ spread + torch.diag(residual.square())


@pytest.mark.parametrize("parts", [1, 3])
def test_an_example_that_joins_a_part_is_merged_as_any_other_part_is(parts):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(60, 8)).astype(np.float32) * 3)
    mixture, new = fit(x, parts, 4, rng), x[:1] + 0.5
    wanted = reduced(concatenate([mixture, alone(new, 4)]), parts)
    before = concatenate([mixture])
    assert join_example(mixture, np.arange(len(mixture)), new[0].numpy())
    changed = int((mixture.count != before.count).nonzero())
    place = int((wanted.count == mixture.count[changed]).nonzero()[-1])  # the merged one is last
    torch.testing.assert_close(mixture.mean[changed], wanted.mean[place])
    torch.testing.assert_close(
        covariance(mixture, changed), covariance(wanted, place), atol=1e-4, rtol=1e-4
    )
    assert len(wanted) == len(mixture)
    assert float(mixture.count.sum()) == 61


def test_an_example_does_not_join_where_another_part_is_too_small():
    rng = np.random.default_rng(0)
    small = fit(torch.randn(4, 3), 1, 2, rng)
    large = fit(torch.randn(40, 3), 1, 2, rng)
    mixture = concatenate([small, large])
    assert not join_example(mixture, np.arange(2), np.zeros(3, np.float32))
    assert mixture.count.tolist() == [4, 40]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("algorithm", ["sffa", "sffa-contrast", "ffa", "bp"])
def test_it_cures_forgetting_in_every_scenario(algorithm, scenario):
    more = {"epochs": 10, "scenario": scenario, "hidden": (60, 60)}
    options = {"gaussian.parts": 2, "gaussian.rank": 3}
    cured = run(small(algorithm, method="gaussian", options=options, **more), toy())
    least = 85.0
    if scenario == "class":
        least = run(small(algorithm, **more), toy()).metrics["acc"] + 20
    assert cured.metrics["acc"] > least


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_pseudo_examples_have_the_labels_and_tasks_of_their_classes_in_equal_shares(scenario):
    going = ContinualRun(small("bp", method="gaussian", scenario=scenario), toy())
    for number in range(2):
        going.learn(going.stream[number])
    batch = going.strategy.extra_batch(Clock(2, 0, 0))
    assert len(batch.y) == 32  # 16 new ones of two classes, four past classes
    counts = torch.bincount(batch.y).tolist()
    assert counts == ([16, 16] if scenario == "domain" else [8] * 4)
    if scenario == "task":
        assert torch.equal(batch.task, batch.y // 2)
    else:
        assert batch.task is None


def test_pseudo_examples_are_bounded_however_many_classes_there_were():
    rng = np.random.default_rng(0)
    strategy = Gaussian(parts=1, rank=1, batch_size=10)
    y = np.arange(200) % 100
    strategy.after_experience(learner_of(4), experience(rng.normal(size=(200, 4)), y))
    strategy.before_experience(learner_of(4), experience(rng.normal(size=(2, 4)), [100, 101], 1))
    assert len(strategy.extra_batch(Clock(1)).y) == 40
    assert len(drawn(strategy)[1].unique()) == 100  # and none is left out for long


def test_draws_come_from_the_clock_alone():
    going = ContinualRun(small("bp", method="gaussian"), toy())
    going.learn(going.stream[0])
    one, other = (going.strategy.extra_batch(Clock(1, 0, n)) for n in (0, 1))
    assert not torch.equal(one.x, other.x)
    assert torch.equal(going.strategy.extra_batch(Clock(1, 0, 0)).x, one.x)


def test_means_show_what_is_remembered_of_each_class():
    data = toy()
    going = ContinualRun(small("bp", method="gaussian", options={"gaussian.parts": 1}), data)
    going.learn(going.stream[0])
    kept = going.strategy.means()
    assert kept.y.tolist() == [0, 1]
    for label, mean in enumerate(kept.x):
        np.testing.assert_allclose(
            mean, data.train.x[data.train.y == label].mean(axis=0), atol=0.01
        )


def test_no_example_is_kept(tmp_path):
    data = toy()
    path = tmp_path / "checkpoint.safetensors"
    run(small("bp", method="gaussian"), data, checkpoint=path)
    kept = ContinualRun(small("bp", method="gaussian"), data, checkpoint=path).strategy.tensors()
    assert kept
    examples = torch.from_numpy(data.train.x)
    for name, tensor in kept.items():
        assert not (tensor.ndim and tensor.shape[-1] == 20 and name.endswith(".x"))
        if tensor.ndim >= 1 and tensor.shape[-1] == 20 and tensor.numel():
            assert float(torch.cdist(tensor.float().reshape(-1, 20), examples).min()) > 0.5, name


def test_pseudo_examples_of_bytes_are_shares_of_255_and_learn_beside_bytes():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (200, 16)).astype(np.uint8)
    x[:, 3] = 0
    strategy = Gaussian(parts=2, rank=4, batch=64)
    strategy.after_experience(learner_of(16), experience(x, rng.integers(0, 2, 200)))
    found, labels = drawn(strategy)
    assert float(found[:, 3].abs().max()) < 1e-6
    assert float(found.mean()) == pytest.approx(x.mean() / 255, abs=0.02)
    assert torch.bincount(labels).tolist() == [640, 640]
    both = join([Batch(torch.from_numpy(x), torch.zeros(200)), Batch(found, labels)])
    torch.testing.assert_close(both.x[:200], torch.from_numpy(x).float() / 255)
    assert torch.equal(both.x[200:], found)


@pytest.mark.parametrize(
    ("dtype", "bytes_each", "error"),
    [("float32", 4, 1e-5), ("float16", 2, 2e-3), ("int8", 1, 0.03)],
)
def test_fewer_bits_keep_nearly_the_same(dtype, bytes_each, error):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 200)).astype(np.float32)
    strategy = Gaussian(parts=2, rank=10, dtype=dtype, batch=32)
    strategy.after_experience(learner_of(200), experience(x, np.zeros(400, np.int64)))
    exact = Gaussian(parts=2, rank=10, dtype="float32", batch=32)
    exact.after_experience(learner_of(200), experience(x, np.zeros(400, np.int64)))
    numbers = 2 * (10 + 2) * 200 * bytes_each
    assert numbers <= strategy.megabytes * 2**20 <= 1.1 * numbers + 200
    one, other = drawn(strategy, 2)[0], drawn(exact, 2)[0]
    assert float((one - other).abs().max()) < error * 10
    assert float((one - other).square().mean().sqrt()) < error


@pytest.mark.parametrize("features", [2, 2000])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_few_examples_constant_features_and_any_width_give_finite_pseudo_examples(
    features, count, dtype
):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, features)).astype(np.float32)
    x[:, 0] = 1.5
    strategy = Gaussian(parts=50, rank=100, dtype=dtype, batch=8)
    strategy.after_experience(learner_of(features), experience(x, np.zeros(count, np.int64)))
    found, _ = drawn(strategy, 2)
    assert bool(found.isfinite().all())
    torch.testing.assert_close(found[:, 0], torch.full((16,), 1.5), rtol=0.01, atol=0.01)
    assert len(strategy.buffers["count"]) <= max(count // 10, 1)


def odd_data(features: int):
    """Six classes: one of one example, one of the same example thirty times; a constant feature."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), [30, 1, 30, 12, 30, 30])
    x = (2 * rng.normal(size=(6, features))[y] + rng.normal(size=(len(y), features))).astype("f4")
    x[y == 2] = x[y == 2][0]
    x[:, 0] = 3
    return from_arrays(x, y, x, y, name="toy")


@pytest.mark.parametrize("features", [2, 2000])
@pytest.mark.parametrize("algorithm", ["sffa-contrast", "bp"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_run_over_odd_classes_ends_above_chance(features, algorithm, scenario):
    options = {"gaussian.parts": 50, "gaussian.rank": 100}
    network = {} if algorithm == "bp" else {"network": {"k": 4, "init": "block"}}
    config = small(
        algorithm, method="gaussian", scenario=scenario, epochs=10, options=options, **network
    )
    result = run(config, odd_data(features))
    assert all(np.isfinite(value) for value in result.metrics.values())
    chance = {"class": 100 / 6, "domain": 50, "task": 50}[scenario]
    assert result.metrics["acc"] > chance
    assert all(bool(p.isfinite().all()) for p in result.learner.parameters())


@pytest.mark.parametrize("algorithm", ["sffa-contrast", "bp"])
def test_images_that_are_all_the_same_are_one_clear_line(algorithm):
    y = np.repeat(np.arange(6), 20)
    x = np.full((len(y), 5, 5), 255, np.uint8)
    with pytest.raises(DataError, match="every value of the training examples is the same"):
        run(small(algorithm, method="gaussian"), from_arrays(x, y, x, y, name="toy"))


@pytest.mark.parametrize("algorithm", ["sffa-contrast", "bp"])
def test_pixels_that_are_mostly_constant_are_remembered(algorithm):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), 40)
    x = np.zeros((len(y), 6, 6), np.uint8)
    x[np.arange(len(y)), 2, y] = rng.integers(100, 256, len(y))
    data = from_arrays(x, y, x, y, name="toy")
    config = small(algorithm, method="gaussian", epochs=10)
    assert run(config, data).metrics["acc"] > 60


def test_the_same_example_many_times_is_one_part():
    x = torch.ones(60, 5)
    mixture = fit(x, 4, 3, generator(0, "test"))
    assert mixture.count.tolist() == [60]
    assert float(mixture.spread.abs().max() + mixture.residual.max()) == pytest.approx(0, abs=1e-6)


def test_a_table_whose_features_differ_in_scale_is_remembered_in_each():
    data = toy()
    scales = np.logspace(-3, 3, 20, dtype=np.float32)
    wide = [Part(part.x * scales, part.y) for part in (data.train, data.test)]
    table = replace(data, train=wide[0], test=wide[1], mean=np.zeros(20), std=scales)
    more = {"method": "gaussian", "epochs": 10, "options": {"gaussian.dtype": "int8"}}
    one, other = run(small("bp", **more), data), run(small("bp", **more), table)
    assert other.metrics["acc"] == pytest.approx(one.metrics["acc"], abs=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gaussian.parts": 0}, "parts of 1 or more"),
        ({"gaussian.rank": -1}, "rank"),
        ({"gaussian.dtype": "float8"}, "float16"),
        ({"gaussian.batch": 1.5}, "option 'gaussian.batch' = 1.5"),
        ({"gaussian.part": 3}, "did you mean 'gaussian.parts'?"),
    ],
)
def test_wrong_options_are_one_clear_line(options, message):
    with pytest.raises(ConfigurationError) as error:
        make_strategy(["gaussian"], options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_replay_of_the_study_holds_as_many_bytes_as_gaussian_keeps():
    """Ten classes of 784 pixels as bytes: one example more would be more than `gaussian` has."""
    rng = np.random.default_rng(0)
    gaussian, replay = Gaussian(), Replay(capacity=SAME_BYTES["replay.capacity"])
    for index in range(5):
        y = np.repeat([2 * index, 2 * index + 1], 500)
        x = rng.integers(0, 256, (len(y), 784), dtype=np.uint8)
        for strategy in (gaussian, replay):
            strategy.after_experience(learner_of(784), experience(x, y, index))
    one = replay.megabytes / replay.capacity
    assert len(replay.buffers["y"]) == replay.capacity
    assert replay.megabytes <= gaussian.megabytes < replay.megabytes + one
