"""Every check that scikit-learn has for a classifier."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sffa import FFAClassifier, SFFAClassifier


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning:sklearn")
@parametrize_with_checks(
    [kind(hidden=(100, 100), epochs=20) for kind in (SFFAClassifier, FFAClassifier)]
)
def test_passes_every_estimator_check(estimator: Any, check: Any) -> None:
    check(estimator)
