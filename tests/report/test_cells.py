"""Records into cells: what is averaged, what is not, and what is said to be missing."""

from __future__ import annotations

import math

import pytest
from tests.report import made
from tests.report.made import read

from sffa.record import Record
from sffa.report.cells import cells, label
from sffa.report.variants import flat
from sffa.study.compare import Comparison
from sffa.study.statistics import Summary


def test_mean_and_standard_error_are_over_seeds():
    records = [
        made.continual(seed=seed, metrics={"acc": value}) for seed, value in enumerate([80, 84, 88])
    ]
    (cell,) = cells(read(records))
    found = cell.summary("acc")
    assert found.mean == 84
    assert found.sem == pytest.approx(4 / math.sqrt(3))
    assert found.count == 3


def test_one_seed_has_no_standard_error():
    (cell,) = cells(read([made.continual()]))
    assert cell.summary("acc").sem is None


def test_failed_runs_are_kept_apart_from_the_mean():
    (cell,) = cells(read([made.continual(seed=0, metrics={"acc": 50}), made.failed(seed=1)]))
    assert cell.summary("acc").mean == 50
    assert [run.seed for run in cell.failed] == [1]
    assert cell.missing == ()


def test_a_done_record_without_numbers_counts_as_failed():
    for metrics in (None, {}, {"acc": float("nan")}, "broken"):
        (run,) = read([made.continual(metrics=metrics)])
        assert not run.done


def test_seeds_that_neighbours_have_are_missing():
    records = [made.continual(method="naive", seed=seed) for seed in range(4)]
    records += [made.continual(method="replay", seed=seed) for seed in (0, 2)]
    by_method = {cell.method: cell for cell in cells(read(records))}
    assert by_method["replay"].missing == (1, 3)
    assert by_method["naive"].missing == ()


def test_different_configurations_are_never_averaged():
    plain = made.continual(seed=0, metrics={"acc": 10.0})
    gated = made.continual(seed=0, metrics={"acc": 90.0})
    gated["config"] = {**gated["config"], "network": {"k": 15, "gate": 0.3}}
    found = cells(read([plain, gated]))
    assert sorted(cell.summary("acc").mean for cell in found) == [10, 90]
    assert {cell.variant for cell in found} == {"", "network.gate=0.3"}
    labels = {"SFFA (default)", "SFFA (network.gate=0.3)"}
    assert {label(cell, found) for cell in found} == labels


def test_negatives_of_a_stream_name_a_variant():
    plain, other = made.continual(), made.continual()
    other["config"] = {**other["config"], "negatives": "uniform"}
    names = {cell.variant for cell in cells(read([plain, other]))}
    assert names == {"", "negatives=uniform"}


def test_of_two_finished_runs_of_a_seed_the_later_counts():
    first, second = made.continual(metrics={"acc": 1.0}), made.continual(metrics={"acc": 2.0})
    (cell,) = cells(read([first, second]))
    assert cell.summary("acc").mean == 2
    assert cell.summary("acc").count == 1


def test_order_is_the_papers():
    records = [
        made.continual(method=method, algorithm=a)
        for method in ("gem", "naive")
        for a in ("sffa", "bp")
    ]
    found = [(cell.method, cell.algorithm) for cell in cells(read(records))]
    assert found == [("naive", "bp"), ("naive", "sffa"), ("gem", "bp"), ("gem", "sffa")]


def test_a_record_is_the_same_in_its_json_and_in_its_flat_form():
    plain = made.continual()
    (record,) = read([plain])
    assert Record.from_json(record.to_json()) == Record.from_cells(record.cells()) == record
    assert record.metrics == plain["metrics"]
    assert record.details["matrix"] == plain["matrix"]
    assert record.done


def test_a_record_with_nothing_in_it_is_survived():
    (run,) = read([{}])
    assert (run.dataset, run.algorithm, run.seed, run.done) == ("unknown", "unknown", None, False)


def test_nested_configuration_is_flattened_with_dots():
    assert flat({"a": {"b": {"c": 1}}, "d": [2]}) == {"a.b.c": 1, "d": [2]}


@pytest.mark.parametrize(
    ("metric", "ours", "paper", "verdict"),
    [
        ("acc", Summary(90.0, 0.1, 10), 90.1, "same"),
        ("acc", Summary(92.0, 0.1, 10), 90.0, "better"),
        ("acc", Summary(88.0, 0.1, 10), 90.0, "worse"),
        ("fgt", Summary(5.0, 0.1, 10), 9.0, "better"),
        ("fgt", Summary(12.0, 0.1, 10), 9.0, "worse"),
        ("acc", Summary(92.0, None, 1), 90.0, "open"),
        ("acc", None, 90.0, ""),
        ("acc", Summary(92.0, 0.1, 10), None, ""),
    ],
)
def test_verdict_follows_spread_and_direction(metric, ours, paper, verdict):
    place = ("split-mnist", "class", "replay", "sffa", metric)
    assert Comparison(*place, ours, paper, 0.05).verdict == verdict
    without = "open" if verdict else ""
    assert Comparison(*place, ours, paper, None).verdict == without


def test_the_papers_numbers_are_found_for_both_kinds():
    static, continual = cells(read([made.static(), made.continual()]))
    assert static.compare("best").paper == 97.87
    assert continual.compare("acc").paper == 90.03
    assert continual.compare("acc").paper_sem == 0.24
    assert continual.compare("fgt").paper == 10.91


def test_a_reduced_dataset_never_meets_the_full_ones_number():
    (cell,) = cells(read([made.static(dataset="kmnist-reduced")]))
    assert cell.compare("best").paper is None
