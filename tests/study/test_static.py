from __future__ import annotations

import numpy as np
import pytest
from tests.study.conftest import tiny

from sffa.core import Epoch
from sffa.data import load
from sffa.study import StaticConfig, execute, run_static
from sffa.study.static import static_metrics


def config(**changes: object) -> StaticConfig:
    made = tiny(**changes).config
    assert isinstance(made, StaticConfig)
    return made


def test_the_three_accuracies_are_what_they_say() -> None:
    epochs = [
        Epoch(number, 0.0, 0.0, accuracy={"test": test, "validation": held})
        for number, (test, held) in enumerate([(10.0, 5.0), (30.0, 6.0), (20.0, 9.0), (15.0, 9.0)])
    ]
    assert static_metrics(epochs) == {
        **{"acc": 20.0, "best": 30.0, "last": 15.0},
        "val_selected": 20.0,
    }


def test_without_held_out_examples_the_last_epoch_is_the_headline() -> None:
    record = run_static(config(holdout=0))
    assert "val_selected" not in record.metrics
    assert record.metrics["acc"] == record.metrics["last"]


def test_held_out_examples_are_not_trained_on() -> None:
    data = load("digits")
    _, held = data.hold_out(200, 0)
    poisoned = data.train.x.copy()
    order = np.sort(np.random.default_rng(0).permutation(len(data.train))[:200])
    assert (poisoned[order] == held.x).all()
    poisoned[order] = 255 - poisoned[order]
    import dataclasses

    other = dataclasses.replace(data, train=type(data.train)(poisoned, data.train.y))
    first, second = run_static(config(), data), run_static(config(), other)
    curves = [record.details["curve"] for record in (first, second)]
    for name in ("loss", "test"):
        assert [p[name] for p in curves[0]] == [p[name] for p in curves[1]]
    assert [p["validation"] for p in curves[0]] != [p["validation"] for p in curves[1]]


def test_the_curve_has_every_epoch_with_losses_and_accuracies_of_every_layer() -> None:
    record = run_static(config(hidden=[40, 40], epochs=3))
    assert [point["epoch"] for point in record.details["curve"]] == [1, 2, 3]
    for point in record.details["curve"]:
        assert len(point["layers"]["test"]) == len(point["layers"]["validation"]) == 2
        assert point["loss"] > 0
    assert record.metrics["best"] == max(point["test"] for point in record.details["curve"])


@pytest.mark.parametrize("algorithm", ["bp", "ffa", "sffa"])
def test_the_same_configuration_gives_the_same_numbers(algorithm: str) -> None:
    network = {"k": 5} if algorithm == "sffa" else {}
    run = tiny(algorithm=algorithm, network=network)
    first, second = execute(run.values), execute(run.values)
    assert first.metrics == second.metrics
    assert first.metrics != execute({**run.values, "seed": 1}).metrics


def test_a_record_says_where_it_comes_from() -> None:
    record = execute(tiny().values)
    about = record.environment
    assert about["version"]
    assert about["libraries"]["torch"]
    assert about["machine"]["cores"] >= 1
    assert about["threads"] >= 1
    assert record.seconds is not None
    assert record.seconds > 0
    assert record.peak_memory_mb is not None
    assert record.peak_memory_mb > 50
    assert record.config == tiny().values


def test_a_network_tells_how_sparse_its_latents_are_and_back_propagation_does_not() -> None:
    scores = run_static(config()).details["hoyer"]
    assert sorted(scores) == ["negative", "positive"]
    assert all(0 < score < 1 for score in scores.values())
    assert "hoyer" not in run_static(config(algorithm="bp", negatives="none", network={})).details
