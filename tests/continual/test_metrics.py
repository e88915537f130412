from __future__ import annotations

import numpy as np
import pytest

from sffa.continual import metrics
from sffa.continual.metrics import summary

MATRIX = np.array([[0.0, 0, 0], [90, 10, 20], [70, 80, 30], [50, 60, 100]])


def test_all_metrics_equal_hand_computed_values_on_three_experiences() -> None:
    found = summary(MATRIX, [50, 25, 100 / 6])
    assert found["acc"] == pytest.approx((50 + 60 + 100) / 3)
    assert found["fgt"] == pytest.approx(((90 - 50) + (80 - 60)) / 2)
    assert found["bwt"] == pytest.approx(((50 - 90) + (60 - 80)) / 2)
    assert found["fwt"] == pytest.approx(((10 - 25) + (30 - 100 / 6)) / 2)


def test_curve_is_the_mean_over_experiences_seen() -> None:
    assert metrics.curve(MATRIX) == pytest.approx([90, 75, 70])


def test_nothing_learned_about_unseen_classes_gives_the_papers_forward_transfer() -> None:
    matrix = np.vstack([np.zeros(5), np.tril(np.full((5, 5), 99.0))])
    assert summary(matrix, [50, 25, 100 / 6, 12.5, 10])["fwt"] == pytest.approx(-16.04, abs=0.005)


def test_one_experience_has_nothing_to_forget_or_transfer() -> None:
    assert summary(np.array([[0.0], [97.0]]), [50]) == {
        "acc": 97.0,
        "fgt": 0.0,
        "fwt": 0.0,
        "bwt": 0.0,
    }
