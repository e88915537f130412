"""The classifier for River passes River's own checks."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

river = pytest.importorskip("river", reason="the extra river is not installed")

from river import checks, datasets  # noqa: E402

from sffa.integrations.river import SFFAClassifier  # noqa: E402

MODEL = SFFAClassifier(hidden=(20,), seed=1)
LONG = "check_bounded_memory_growth"


def some(check: Any, rows: int) -> Any:
    """Shorten the stream of a check, if it has one."""
    if "dataset" in getattr(check, "keywords", {}):
        check.keywords["dataset"] = list(itertools.islice(check.keywords["dataset"], rows))
    return check


def test_river_s_checks_pass_on_short_streams():
    done = 0
    for check in checks.yield_checks(MODEL):
        if check.__name__ != LONG:
            some(check, 8)(MODEL.clone())
            done += 1
    assert done > 30


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_of_river_s_checks_pass():
    checks.check_estimator(MODEL)


def test_it_learns_a_stream_better_than_guessing():
    model = SFFAClassifier(hidden=(40,), seed=0)
    right = 0
    for x, y in datasets.Phishing().take(120):
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 72


def test_features_that_vanish_or_are_text_do_not_disturb():
    model = SFFAClassifier(hidden=(20,))
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0, "b": 2.0, "c": "text"}, "yes")
    model.learn_one({"a": 0.0}, "no")
    model.learn_one({"z": 0.0}, "maybe")
    assert set(model.predict_proba_one({"b": 3.0})) == {"yes", "no", "maybe"}
