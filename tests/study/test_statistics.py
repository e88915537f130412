"""Statistics against scipy's own, and against what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sffa.study.statistics import Summary, holm, median_gap, paired, summarise


def test_interval_and_p_value_are_those_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(80, 5, 7), rng.normal(78, 5, 7)
    found = paired(dict(enumerate(ours)), dict(enumerate(theirs)))
    expected = stats.ttest_rel(ours, theirs)
    assert found is not None
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval() == pytest.approx(tuple(expected.confidence_interval()))


def test_only_common_seeds_count_and_without_any_there_is_no_difference() -> None:
    assert paired({0: 1.0, 5: 9.0}, {0: 3.0, 1: 4.0}) == Summary(-2.0, None, 1)
    assert paired({0: 1.0}, {1: 1.0}) is None


def test_deviation_and_error_are_two_things() -> None:
    found = summarise([1.0, 2.0, 3.0, 4.0])
    assert found is not None
    assert found.sd == pytest.approx(np.std([1, 2, 3, 4], ddof=1))
    assert found.sem == pytest.approx(found.sd / 2)


def test_one_value_has_neither_error_nor_interval_nor_test() -> None:
    found = Summary(1.0, None, 1)
    assert found.sd is None
    assert found.interval() is None
    assert found.p_value is None


def test_seeds_that_all_agree_are_certain() -> None:
    assert Summary(2.0, 0.0, 3).p_value == 0.0
    assert Summary(0.0, 0.0, 3).p_value == 1.0


def test_holm_is_no_stricter_than_bonferroni_and_keeps_the_order() -> None:
    """By hand: sorted .005 .01 .03 .04, times 4 3 2 1, and never below the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_median_of_absolute_differences_leaves_out_what_is_unknown() -> None:
    assert median_gap([-3.0, None, 1.0, 2.0]) == 2.0
    assert median_gap([None]) is None
