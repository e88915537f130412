from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.continual.toy import PAIRS, StopAt, small, toy

from sffa import Network
from sffa.continual import EWC, METHODS, ContinualConfig, ContinualRun, Stopped, Stream, run
from sffa.core import Callback, Trainer
from sffa.errors import ConfigurationError, DataError, ModelFileError

SCENARIOS = ("class", "domain", "task")


def same(first, second) -> bool:
    a, b = first.state_dict(), second.state_dict()
    return list(a) == list(b) and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("algorithm", ["sffa", "ffa", "bp"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_matrix_has_a_row_before_training_and_one_after_each(
    scenario: str, algorithm: str
) -> None:
    result = run(small(algorithm, scenario=scenario, epochs=6), toy())
    matrix = result.matrix
    assert matrix.shape == (4, 3)
    assert ((matrix >= 0) & (matrix <= 100)).all()
    if scenario == "class":
        assert (matrix[np.triu_indices(4, 0, 3)] == 0).all()
    else:
        assert (matrix[0] > 0).all()
    assert matrix[1:].diagonal().mean() > 70
    assert result.metrics["acc"] == pytest.approx(matrix[-1].mean())


def test_a_record_is_json_with_everything_about_the_run() -> None:
    result = run(small("bp", method="replay", scenario="domain"), toy())
    record = json.loads(json.dumps(result.record().to_json()))
    assert record["metrics"].keys() == {"acc", "fgt", "fwt", "bwt"}
    assert np.array(record["matrix"]).shape == (4, 3)
    assert len(record["curve"]) == 3
    assert record["per_class"].keys() == {"0", "1", "2", "3", "4", "5"}
    pairs = np.array([record["per_class"][str(label)] for label in range(6)]).reshape(3, 2)
    np.testing.assert_allclose(pairs.mean(axis=1), record["matrix"][-1])
    assert [e["classes"] for e in record["experiences"]] == [[0, 1], [2, 3], [4, 5]]
    assert all(e["seconds"] > 0 and e["memory_mb"] > 0 for e in record["experiences"])
    assert record["experiences"][-1]["strategy_mb"] > 0
    assert ContinualConfig(**record["config"]) == result.config


def test_the_same_seed_gives_the_same_bits_and_another_one_does_not() -> None:
    config = small("sffa", method="replay", class_order=None, experiences=3)
    first, second = run(config, toy()), run(config, toy())
    assert first.rows == second.rows
    other = run(config.model_copy(update={"seed": 1}), toy())
    assert other.rows != first.rows


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
def test_evaluation_does_not_change_training(
    algorithm: str, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small(algorithm, method="replay", scenario=scenario)
    watched = ContinualRun(config, toy())
    watched.evaluate()
    blind = ContinualRun(config, toy())
    monkeypatch.setattr(blind, "evaluate", lambda: blind.result.rows.append([0.0] * 3))
    for course in (watched, blind):
        for experience in course.stream:
            course.learn(experience)
    assert same(watched.learner, blind.learner)


def test_the_global_generators_are_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    run(small("sffa", method="replay+gem"), toy())
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002


@pytest.mark.parametrize("algorithm", ["sffa", "bp"])
@pytest.mark.parametrize("scenario", ["class", "task"])
@pytest.mark.parametrize("method", [*METHODS, "replay+si"])
def test_a_run_stopped_at_any_batch_goes_on_to_the_same_bits(
    method: str, scenario: str, algorithm: str, tmp_path: Path
) -> None:
    more = {"network": {"codes": "onehot", "k": 4}} if algorithm == "sffa" else {}
    config = small(algorithm, method=method, scenario=scenario, epochs=1, **more)
    whole = ContinualRun(config, toy())
    whole.evaluate()
    for experience in whole.stream:
        whole.learn(experience)
    path = tmp_path / "checkpoint.safetensors"
    for stop in (5, 13):
        with pytest.raises(Stopped, match=f"stopped after {stop} of"):
            run(config, toy(), checkpoint=path, callbacks=[StopAt(stop)])
    result = run(config, toy(), checkpoint=path)
    assert result.rows == whole.result.rows
    assert same(Trainer.load(path).learner, whole.learner)
    kept = ContinualRun(config, toy(), checkpoint=path).strategy.tensors()
    for name, tensor in whole.strategy.tensors().items():
        assert torch.equal(tensor, kept[name]), name


def test_a_finished_checkpoint_gives_the_result_without_training(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    config = small("bp")
    first = run(config, toy(), checkpoint=path)
    watching = StopAt()
    again = run(config, toy(), checkpoint=path, callbacks=[watching])
    assert not watching.seen
    assert again.record() == first.record()


def test_a_checkpoint_of_another_configuration_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    run(small("bp"), toy(), checkpoint=path)
    with pytest.raises(ConfigurationError, match="another configuration: its epochs is 3"):
        run(small("bp", epochs=2), toy(), checkpoint=path)
    with pytest.raises(ConfigurationError, match="was made with other data"):
        run(small("bp"), toy(per_class=30), checkpoint=path)
    model = ContinualRun(small("bp"), toy()).learner
    Trainer(model).save(tmp_path / "model.safetensors")
    with pytest.raises(ModelFileError, match="not a checkpoint of a continual run"):
        run(small("bp"), toy(), checkpoint=tmp_path / "model.safetensors")


def test_a_task_unknown_at_prediction_is_one_clear_line() -> None:
    course = ContinualRun(small("bp", scenario="task"), toy())
    course.learn(course.stream[0])
    with pytest.raises(DataError, match=r"unknown task 2; known tasks: \[0\]"):
        course.learner.predict(torch.zeros(1, 20), 2)


def test_a_loss_that_is_not_a_number_stops_the_run() -> None:
    with pytest.raises(ConfigurationError, match="in experience 0: lower lr"):
        run(small("bp", lr=1e30), toy())


def test_an_example_that_is_not_finite_is_named() -> None:
    data = toy()
    data.train.x[:] = np.inf
    with pytest.raises(DataError, match="example 0 of the batch has a value that is not finite"):
        run(small("bp"), data)


def test_progress_counts_every_batch_and_experience() -> None:
    watching = StopAt()
    run(small("bp", method="joint", epochs=1), toy(), callbacks=[watching])
    assert watching.seen == [(done, 30) for done in range(1, 31)]
    assert watching.experiences == [0, 1, 2, 3]


def test_old_callbacks_work_with_a_warning() -> None:
    batches: list[tuple[int, int]] = []
    experiences: list[int] = []
    with pytest.warns(FutureWarning, match="callbacks="):
        run(
            small("bp", epochs=1),
            toy(),
            on_batch=lambda done, total: batches.append((done, total)),
            on_experience=lambda number, *_: experiences.append(number),
        )
    assert batches == [(done, 15) for done in range(1, 16)]
    assert experiences == [0, 1, 2, 3]


def test_objects_given_to_a_run_are_what_the_configuration_names() -> None:
    named = run(small("sffa", method="ewc", options={"ewc.strength": 10.0}), toy())
    given = run(small("sffa"), toy(), strategy=EWC(strength=10.0))
    assert given.rows == named.rows
    assert given.config == named.config
    network = Network(20, (24, 24), k=4, code_density=0.2)
    given = run(small("sffa"), toy(), learner=network)
    assert given.rows == run(small("sffa"), toy()).rows
    assert given.config.network == {"k": 4, "code_density": 0.2}
    stream = Stream(toy(), "domain", 0, class_order=PAIRS)
    given = run(small("sffa", scenario="domain"), stream=stream)
    assert given.rows == run(small("sffa", scenario="domain"), toy()).rows


def test_a_callback_ends_an_experience_early_or_the_run_after_one() -> None:
    class OneEpoch(StopAt):
        def on_epoch_end(self, progress, epoch):
            assert epoch.loss > 0
            return True

    early = OneEpoch()
    run(small("bp", epochs=5), toy(), callbacks=[early])
    assert [step for step, _ in early.seen] == list(range(1, 16))

    class OneExperience(Callback):
        def on_experience_end(self, learner, result):
            return result.done == 1

    with pytest.raises(Stopped, match="stopped after 15 of 45"):
        run(small("bp"), toy(), callbacks=[OneExperience()])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"methd": "ewc"}, "did you mean 'method'?"),
        ({"algorithm": "sfa"}, "did you mean 'sffa'?"),
        ({"scenario": "clas"}, "scenario"),
        ({"method": "rehearsal"}, "unknown method 'rehearsal'"),
        ({"algorithm": [1]}, "'algorithm' = [1]"),
        ({"class_order": [0, 1, 2]}, "such as [[0, 1], [2, 3]]"),
        ({"algorithm": "bp", "hidden": (0,)}, "layer widths must be positive"),
        ({"algorithm": "bp", "network": {"k": 5}}, "back-propagation has no option 'k'"),
        ({"network": {"kk": 3}}, "did you mean 'k'?"),
        ({"network": {"k": 1000}}, "do not fit into a half"),
        ({"network": {"inputs": 5}}, "'inputs' is not an option of the network"),
        ({"network": {"classes": [1]}}, "unknown option 'classes'"),
        ({"seed": 2**64}, "'seed'"),
        ({"backend": "foo"}, "'backend' = 'foo'"),
        ({"method": "ewc", "options": {"ewc.strength": -1}}, "0 or more"),
    ],
)
def test_wrong_configurations_are_one_clear_line(values: dict, message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        ContinualConfig(**values)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_ffa_counts_the_sum_of_squares_and_a_disjoint_gate_plans_for_all_classes() -> None:
    course = ContinualRun(small("ffa", network={}), toy())
    assert course.learner.config.scale == 0.01
    assert course.learner.config.code_density == 0.2
    assert course.config.network == {"scale": 0.01, "code_density": 0.2}
    sparse = {"code_density": 0.1, "k": 3}
    assert small("sffa", network=sparse).network == sparse
    assert (
        ContinualRun(small("ffa", network={"scale": "mean"}), toy()).learner.config.scale == "mean"
    )
    gated = small("sffa", network={"gate": "disjoint", "k": 2}, hidden=(24,))
    assert ContinualRun(gated, toy()).learner.config.planned_classes == 6
