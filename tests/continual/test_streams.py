"""Streams beside the paper's three scenarios, held-out examples, and running scales."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.continual.toy import StopAt, small, toy

from sffa.continual import (
    Blurry,
    ContinualConfig,
    Experience,
    IteratorStream,
    Partition,
    Permuted,
    Repetition,
    Rotated,
    Stopped,
    Strategy,
    Stream,
    TaskFree,
    make_stream,
    run,
)
from sffa.data import from_arrays
from sffa.errors import ConfigurationError, DataError

KINDS = ("repetition", "blurry", "task-free", "permuted")


def rows_of(stream: Stream) -> list[int]:
    return torch.cat([experience.train.index for experience in stream]).tolist()


def same(first, second) -> bool:
    a, b = first.state_dict(), second.state_dict()
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


def test_repetition_deals_every_example_to_one_round_and_shows_every_group_in_each() -> None:
    stream = Repetition(toy(), "class", 0, 3, times=4)
    assert len(stream) == 12
    assert sorted(rows_of(stream)) == list(range(240))
    for start in range(0, 12, 3):
        groups = {stream[n].classes for n in range(start, start + 3)}
        assert groups == {*stream.groups}
    assert stream.learned == [1, 2, 3]
    assert len(stream.tests) == 3


def test_repetition_may_show_all_examples_again_and_put_other_classes_together() -> None:
    again = Repetition(toy(), "task", 0, 3, times=2, examples="all")
    assert sorted(rows_of(again)) == sorted([*range(240)] * 2)
    assert {e.task for e in again} == {0, 1, 2}
    mixed = Repetition(toy(), "class", 0, 3, times=5, regroup=True)
    assert len({frozenset(e.classes) for e in mixed}) > 3
    with pytest.raises(ConfigurationError, match="has no domain labels"):
        Repetition(toy(), "domain", 0, 3, regroup=True)


def test_blurry_moves_a_share_of_every_class_and_loses_none() -> None:
    stream = Blurry(toy(), "class", 0, 3, overlap=0.25)
    assert sorted(rows_of(stream)) == list(range(240))
    for experience, group in zip(stream, stream.groups, strict=True):
        own = torch.isin(experience.train.original, torch.tensor(group)).float().mean()
        assert float(own) == pytest.approx(0.75, abs=0.02)
        assert {*experience.classes} == {*range(6)}
        assert {*experience.test.original.tolist()} == {*group}
    near = Blurry(toy(), "class", 0, 3, overlap=0.25, to="next")
    assert not {*near[0].classes} & {*near.groups[2]}
    with pytest.raises(ConfigurationError, match="cannot be Task IL"):
        Blurry(toy(), "task", 0, 3)


def test_task_free_batches_hold_every_example_once_and_drift_from_group_to_group() -> None:
    stream = TaskFree(toy(), "class", 0, 3, batch_size=16, drift=0.3)
    assert [len(e.train) for e in stream] == [16] * 15
    assert sorted(rows_of(stream)) == list(range(240))
    home = {label: n for n, group in enumerate(stream.groups) for label in group}
    times = [float(np.mean([home[c] for c in e.train.original.tolist()])) for e in stream]
    assert times[0] < 0.5
    assert times[-1] > 1.5
    assert any(len({home[c] for c in e.classes}) > 1 for e in stream)
    sharp = TaskFree(toy(), "class", 0, 3, batch_size=16, drift=0.0)
    assert all(len({home[c] for c in e.classes}) == 1 for e in sharp)


def test_permuted_holds_one_copy_of_the_data_and_the_first_experience_is_as_it_is() -> None:
    data = toy()
    stream = Permuted(data, "domain", 0, 100)
    assert len(stream) == 100
    assert len({e.train.images.data_ptr() for e in stream}) == 1
    assert torch.equal(stream[0].test.x, torch.from_numpy(data.test.x))
    for number in (1, 99):
        x = stream[number].test.x
        assert torch.equal(x.sort(dim=1).values, stream[0].test.x.sort(dim=1).values)
        assert not torch.equal(x, stream[0].test.x)
        assert torch.equal(stream[number].train.take(torch.arange(3)).x, stream[number].train.x[:3])


@pytest.mark.parametrize("scenario", ["class", "domain", "task"])
def test_what_comes_in_an_experience_is_learned_after_it_whatever_its_labels(scenario) -> None:
    assert Stream(toy(), scenario, 0, 3).learned == [1, 2, 3]
    assert Permuted(toy(), scenario, 0, 3).learned == [1, 2, 3]
    result = run(small("bp", scenario=scenario), toy())
    lost = result.matrix[1:].diagonal()[:-1] - result.matrix[-1][:-1]
    assert result.metrics["fgt"] == pytest.approx(lost.mean())


def test_permuted_labels_are_shared_in_domain_il_only() -> None:
    assert Permuted(toy(), "domain", 0, 3)[2].labels == tuple(range(6))
    assert Permuted(toy(), "domain", 0, 3).chances == [100 / 6] * 3
    many = Permuted(toy(), "class", 0, 3)
    assert many[2].labels == tuple(range(12, 18))
    assert many[2].train.y.min() == 12
    assert len(many.classes) == 18
    assert many.chances == pytest.approx([100 / 6, 100 / 12, 100 / 18])
    assert Permuted(toy(), "task", 0, 3)[1].task == 1


def test_rotated_turns_images_by_equal_angles_and_keeps_bytes() -> None:
    image = np.zeros((4, 8, 8), np.uint8)
    image[:, 1, 3:5] = 200
    data = from_arrays(image, np.array([0, 1, 0, 1]), image, np.array([0, 1, 0, 1]))
    stream = Rotated(data, "domain", 0, 4, degrees=360.0)
    turned = [e.test.x[0].reshape(8, 8) for e in stream]
    assert all(each.dtype == torch.uint8 for each in turned)
    for times, found in enumerate(turned):
        assert torch.equal(found, torch.rot90(turned[0], times)), times
    with pytest.raises(ConfigurationError, match="only images can be turned"):
        Rotated(toy(), "domain", 0, 4)


def test_a_partition_puts_any_example_anywhere(tmp_path: Path) -> None:
    data = toy()
    parts = np.arange(240) % 4 - 1
    np.savez(tmp_path / "parts.npz", train=parts)
    options = {"partition.file": str(tmp_path / "parts.npz")}
    stream = make_stream("partition", options, data=data, scenario="class", seed=0)
    assert len(stream) == 3
    for number, experience in enumerate(stream):
        assert experience.train.index.tolist() == np.flatnonzero(parts == number).tolist()
    tests = np.arange(60) % 3
    given = Partition(data, "domain", 0, train=parts, test=tests)
    assert given[1].test.index.tolist() == np.flatnonzero(tests == 1).tolist()
    assert given.fingerprint != stream.fingerprint
    with pytest.raises(DataError, match="one whole number for each of 240"):
        Partition(data, "class", 0, train=[0, 1])
    with pytest.raises(ConfigurationError, match=r"partition.file=FILE"):
        Partition(data, "class", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_on_to_the_same_bits_after_a_stop(kind: str, tmp_path: Path) -> None:
    method = "naive" if kind == "permuted" else "replay-reservoir"
    config = small("sffa", stream=kind, method=method, epochs=1, class_order=None, experiences=3)
    whole = run(config, toy())
    path = tmp_path / "checkpoint.safetensors"
    for stop in (4, 9):
        with pytest.raises(Stopped):
            run(config, toy(), checkpoint=path, callbacks=[StopAt(stop)])
    result = run(config, toy(), checkpoint=path)
    assert result.rows == whole.rows
    assert same(result.learner, whole.learner)
    assert result.config.stream == kind
    assert ContinualConfig(**result.record().config) == config


def test_a_task_free_run_says_what_cannot_serve_it_and_learns_with_what_can() -> None:
    free = {"stream": "task-free", "epochs": 1, "class_order": None, "experiences": 3}
    bounded = ("ewc", "si", "mas", "lwf", "gem", "a-gem", "gaussian", "joint", "replay")
    for method in (*bounded, "masking", "projection"):
        with pytest.raises(ConfigurationError, match="does not say where: use naive"):
            run(small("bp", method=method, **free), toy())
    accuracy = {}
    for method in ("naive", "replay-reservoir", "replay-balanced", "derpp"):
        result = run(small("bp", method=method, batch_size=8, **free | {"lr": 1e-2}), toy())
        accuracy[method] = result.metrics["acc"]
    assert min(accuracy[m] for m in accuracy if m != "naive") > accuracy["naive"] + 10
    with pytest.raises(ConfigurationError, match="is seen once: use epochs=1"):
        small("bp", stream="task-free", epochs=2)


def test_a_users_strategy_without_observe_is_not_silently_naive() -> None:
    class Remembers(Strategy):
        def after_experience(self, learner, experience):
            self.buffers["seen"] = experience.train.y

    config = small("bp", stream="task-free", epochs=1, class_order=None, experiences=3)
    with pytest.raises(ConfigurationError, match="acts where an experience ends"):
        run(config, toy(), strategy=Remembers())


def test_evaluations_can_be_rarer_than_experiences_and_change_nothing() -> None:
    values = {"stream": "repetition", "epochs": 1, "class_order": None, "experiences": 3}
    often = run(small("bp", **values), toy())
    rare = run(small("bp", evaluate_every=4, **values), toy())
    assert rare.seen == [0, 4, 8, 9]
    assert [often.rows[n] for n in rare.seen] == rare.rows
    assert same(often.learner, rare.learner)
    assert rare.metrics["acc"] == often.metrics["acc"]
    assert sum(len(e["classes"]) > 2 for e in rare.experiences) == 2


def test_held_out_examples_are_never_trained_on_and_their_accuracy_is_recorded() -> None:
    data = toy()
    stream = Stream(data, "class", 0, 3, holdout=0.25)
    trained = rows_of(stream)
    held = torch.cat([e.held.index for e in stream]).tolist()
    assert sorted([*trained, *held]) == list(range(240))
    assert np.bincount(data.train.y[held]).tolist() == [10] * 6
    result = run(small("bp", holdout=0.25), data)
    record = result.record()
    assert np.array(record.details["held_matrix"]).shape == (4, 3)
    assert record.metrics["val_acc"] == pytest.approx(np.mean(record.details["held_matrix"][-1]))
    assert record.metrics["val_acc"] != record.metrics["acc"]
    assert record.config["holdout"] == 0.25


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_hold_examples_out(kind: str) -> None:
    common = {"data": toy(), "scenario": "class", "seed": 0, "experiences": 3, "batch_size": 16}
    stream = make_stream(kind, holdout=0.25, **common)
    trained = {n for e in stream.starting(0) for n in e.train.index.tolist()}
    held = {n for test in stream.tests for n in test.held.index.tolist()}
    assert len(trained) == 180
    assert len(held) == 60
    assert not trained & held


def test_inputs_can_be_scaled_by_what_was_met_alone(tmp_path: Path) -> None:
    data = toy()
    first = run(small("bp", standardise="first"), data).learner
    own = Stream(data, "class", 0, class_order=((0, 1), (2, 3), (4, 5)))[0].train.x.numpy()
    np.testing.assert_allclose(first.mean.numpy(), own.mean(axis=0), rtol=1e-5)
    config = small("bp", standardise="running")
    whole = run(config, data)
    np.testing.assert_allclose(whole.learner.mean.numpy(), data.train.x.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(whole.learner.std.numpy(), data.train.x.std(axis=0), rtol=1e-5)
    path = tmp_path / "checkpoint.safetensors"
    with pytest.raises(Stopped):
        run(config, data, checkpoint=path, callbacks=[StopAt(20)])
    assert same(run(config, data, checkpoint=path).learner, whole.learner)


def source(start: int):
    """Yield endless examples of three classes, each experience drawn from its number alone."""
    for number in range(start, 40):
        rng = np.random.default_rng(number)
        y = rng.integers(0, 3, 20)
        yield (np.eye(3, 6)[y] * 2 + rng.normal(size=(20, 6))).astype(np.float32), y


def iterated(given=source, **more):
    x, y = (np.concatenate(part) for part in zip(*list(source(35)), strict=True))
    return IteratorStream(given, [(x, y)], **more)


def test_a_stream_from_an_iterator_goes_on_to_the_same_bits_from_any_batch(tmp_path: Path) -> None:
    config = small("bp", class_order=None, epochs=1, evaluate_every=10)
    whole = run(config, stream=iterated())
    assert whole.seen == [0, 10, 20, 30, 40]
    assert whole.metrics["acc"] > 60
    path = tmp_path / "checkpoint.safetensors"
    for stop in (1, 13, 31, 62):
        with pytest.raises(Stopped, match="of unknown batches"):
            run(config, stream=iterated(), checkpoint=path, callbacks=[StopAt(stop)])
    again = run(config, stream=iterated(), checkpoint=path)
    assert again.rows == whole.rows
    assert again.metrics == whole.metrics
    assert same(again.learner, whole.learner)


def test_an_iterator_is_gone_through_once_and_a_list_as_often_as_needed(tmp_path: Path) -> None:
    config = small("bp", class_order=None, epochs=1)
    whole = run(config, stream=iterated())
    assert same(run(config, stream=iterated(source(0))).learner, whole.learner)
    assert same(run(config, stream=iterated(list(source(0)))).learner, whole.learner)
    path = tmp_path / "checkpoint.safetensors"
    with pytest.raises(Stopped):
        run(config, stream=iterated(source(0)), checkpoint=path, callbacks=[StopAt(5)])
    with pytest.raises(ConfigurationError, match="can be gone through once"):
        run(config, stream=iterated(source(0)), checkpoint=path)


def test_anything_that_yields_experiences_is_a_stream() -> None:
    data = toy()
    parts = Stream(data, "class", 0, class_order=((0, 1), (2, 3), (4, 5)))
    given = [Experience.of(e.train.x, e.train.y, e.test.x, e.test.y) for e in parts]
    config = small("bp", method="joint", standardise="first")
    assert run(config, stream=given).rows == run(config, data).rows
    with pytest.raises(DataError, match="does not say what to test"):
        run(config, stream=source(0))
    with pytest.raises(DataError, match="has no test examples"):
        run(config, stream=[(data.train.x, data.train.y)])
    with pytest.raises(DataError, match="expected a stream, got a int"):
        run(config, stream=3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stream": "blury"}, "did you mean 'blurry'"),
        ({"stream": "blurry", "options": {"blurry.overlop": 0.1}}, "did you mean 'blurry.overlap'"),
        ({"stream": "blurry", "options": {"blurry.overlap": "much"}}, "blurry.overlap"),
        ({"holdout": 1.0}, "holdout"),
        ({"standardise": "second"}, "standardise"),
    ],
)
def test_what_no_stream_has_is_one_clear_line(given: dict, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ContinualConfig(**given)


def test_records_of_the_papers_streams_keep_their_hashes() -> None:
    values = ContinualConfig().model_dump(mode="json")
    later = {*ContinualConfig.later}
    assert len(later) == 9
    assert not later & {*values}
