"""What the classifiers promise beyond scikit-learn's own checks."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_matrix
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sffa
from sffa import FFAClassifier, SFFAClassifier
from sffa.core.trainer import DivergedError
from sffa.errors import ConfigurationError, DataError

both = pytest.mark.parametrize("kind", [SFFAClassifier, FFAClassifier])


@pytest.fixture(scope="module")
def wine() -> tuple[Any, ...]:
    x, y = load_wine(return_X_y=True)
    return tuple(train_test_split(x, y, stratify=y, random_state=0))


@pytest.fixture(scope="module")
def handwriting() -> tuple[Any, ...]:
    x, y = load_digits(return_X_y=True)
    return tuple(train_test_split(x, y, stratify=y, random_state=0))


@pytest.fixture(scope="module")
def fitted(wine: tuple[Any, ...]) -> SFFAClassifier:
    x, _, y, _ = wine
    return SFFAClassifier(epochs=20, random_state=0).fit(x, y)


def test_importing_sffa_does_not_import_scikit_learn() -> None:
    code = "import sys, sffa; assert 'sklearn' not in sys.modules; sffa.SFFAClassifier"
    subprocess.run([sys.executable, "-c", code], check=True)


@both
def test_a_raw_table_with_string_labels_is_learned(kind: Any, wine: tuple[Any, ...]) -> None:
    x, x_test, y, y_test = wine
    names = np.array(["barolo", "grignolino", "barbera"])
    clf = kind(epochs=40, random_state=0).fit(x, names[y])
    assert clf.score(x_test, names[y_test]) > 0.92
    assert set(clf.predict(x_test)) <= set(names)


@pytest.mark.slow
@both
def test_digits_reach_96_percent_out_of_the_box(kind: Any, handwriting: tuple[Any, ...]) -> None:
    x, x_test, y, y_test = handwriting
    assert kind(random_state=0).fit(x, y).score(x_test, y_test) >= 0.96


def test_replay_keeps_ten_digits_learned_two_at_a_time(handwriting: tuple[Any, ...]) -> None:
    assert _split_digits(handwriting, "replay") >= 0.85


def test_without_protection_only_the_last_two_digits_remain(handwriting: tuple[Any, ...]) -> None:
    assert _split_digits(handwriting, None) < 0.35


def _split_digits(data: tuple[Any, ...], continual: str | None) -> float:
    x, x_test, y, y_test = data
    clf = SFFAClassifier(continual=continual, epochs=12, random_state=0)
    for first in (8, 6, 4, 2, 0):
        now = np.isin(y, [first, first + 1])
        clf.partial_fit(x[now], y[now])
    assert clf.classes_.tolist() == list(range(10))
    return float(clf.score(x_test, y_test))


@pytest.mark.parametrize("continual", ["ewc", "si", "mas", "gem", "a-gem", "replay+mas", None])
def test_every_strategy_serves_partial_fit(continual: str | None, wine: tuple[Any, ...]) -> None:
    x, x_test, y, y_test = wine
    clf = SFFAClassifier(hidden=(100,), continual=continual, epochs=3, random_state=0)
    clf.fit(x[y < 2], y[y < 2]).partial_fit(x[y == 2], y[y == 2])
    assert clf.predict_proba(x_test).shape == (len(y_test), 3)


def test_the_buffer_is_bounded_and_shared_by_the_classes(wine: tuple[Any, ...]) -> None:
    x, _, y, _ = wine
    clf = SFFAClassifier(
        hidden=(100,), continual="replay", epochs=1, buffer_size=30, random_state=0
    )
    for start in range(0, 120, 12):
        clf.partial_fit(x[start : start + 12], y[start : start + 12])
    stored = clf.strategy_.buffers["y"].numpy()
    assert np.bincount(stored).tolist() == [10, 10, 10]


def test_classes_given_early_can_be_predicted_at_once(wine: tuple[Any, ...]) -> None:
    x, _, y, _ = wine
    clf = SFFAClassifier(hidden=(100,), epochs=1, random_state=0)
    clf.partial_fit(x[y == 1], y[y == 1], classes=[0, 1, 2])
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.predict_proba(x[:2]).shape == (2, 3)


def test_columns_follow_the_sorted_classes_whatever_order_they_come_in(
    wine: tuple[Any, ...],
) -> None:
    x, x_test, y, _ = wine
    names = np.array(["c", "b", "a"])
    clf = SFFAClassifier(epochs=20, random_state=0)
    clf.partial_fit(x[y == 0], names[y[y == 0]]).partial_fit(x[y > 0], names[y[y > 0]])
    assert clf.classes_.tolist() == ["a", "b", "c"]
    best = clf.classes_[clf.predict_proba(x_test).argmax(axis=1)]
    assert (best == clf.predict(x_test)).all()


@both
def test_probabilities_sum_to_one_and_agree_with_predictions(
    kind: Any, wine: tuple[Any, ...]
) -> None:
    x, x_test, y, _ = wine
    clf = kind(epochs=5, random_state=0).fit(x, y)
    probability = clf.predict_proba(x_test)
    assert np.allclose(probability.sum(axis=1), 1)
    assert (probability.argmax(axis=1) == clf.predict(x_test)).all()
    assert np.allclose(np.exp(clf.predict_log_proba(x_test)), probability)


@both
def test_the_same_state_gives_the_same_scores_and_the_global_one_is_untouched(
    kind: Any, wine: tuple[Any, ...]
) -> None:
    x, x_test, y, _ = wine
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, two = (kind(epochs=2, random_state=7).fit(x, y) for _ in range(2))
    assert (one.decision_function(x_test) == two.decision_function(x_test)).all()
    kind(epochs=1).fit(x, y)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_early_stopping_stops_and_goes_back_to_the_best(wine: tuple[Any, ...]) -> None:
    x, _, y, _ = wine
    clf = SFFAClassifier(epochs=150, early_stopping=True, patience=3, random_state=0).fit(x, y)
    assert clf.n_iter_ < 150
    assert clf.n_iter_ == len(clf.loss_curve_) == len(clf.validation_scores_)


def test_warm_start_goes_on_and_a_cold_one_begins_again(wine: tuple[Any, ...]) -> None:
    x, _, y, _ = wine
    clf = SFFAClassifier(epochs=2, warm_start=True, random_state=0).fit(x, y)
    first, network = clf.loss_curve_[0], clf.network_
    assert clf.fit(x, y).network_ is network
    assert clf.loss_curve_[0] < first
    clf.set_params(warm_start=False).fit(x, y)
    assert clf.network_ is not network
    assert clf.loss_curve_[0] == first


def test_clone_pipeline_grid_search_and_calibration_work(wine: tuple[Any, ...]) -> None:
    x, x_test, y, y_test = wine
    pipeline = make_pipeline(
        StandardScaler(), SFFAClassifier(epochs=8, standardise=False, random_state=0)
    )
    grid = GridSearchCV(clone(pipeline), {"sffaclassifier__hidden": [(60,), (100, 100)]}, cv=2)
    assert grid.fit(x, y).score(x_test, y_test) > 0.85
    pipeline.set_output(transform="default")
    calibrated = CalibratedClassifierCV(SFFAClassifier(epochs=8, random_state=0), cv=2)
    assert calibrated.fit(x, y).score(x_test, y_test) > 0.85


def test_a_pickled_classifier_goes_on_learning_as_the_original_would(
    wine: tuple[Any, ...],
) -> None:
    x, x_test, y, _ = wine
    clf = SFFAClassifier(hidden=(100,), epochs=2, random_state=0).fit(x[y < 2], y[y < 2])
    copy = pickle.loads(pickle.dumps(clf))
    for one in (clf, copy):
        one.partial_fit(x, y)
    assert (clf.decision_function(x_test) == copy.decision_function(x_test)).all()


def test_verbose_prints_a_line_an_epoch(wine: tuple[Any, ...], capsys: Any) -> None:
    x, _, y, _ = wine
    SFFAClassifier(hidden=(60,), epochs=3, verbose=True, early_stopping=True).fit(x, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("epoch 1 of 3: ")
    assert "remain" in lines[0]
    assert "loss" in lines[0]
    assert "held out" in lines[0]


def test_predicting_before_fitting_says_so(wine: tuple[Any, ...]) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        SFFAClassifier().predict(wine[0])


def test_another_number_of_features_is_named(fitted: SFFAClassifier, wine: tuple[Any, ...]) -> None:
    with pytest.raises(DataError, match="has 12 features, but SFFAClassifier is expecting 13"):
        fitted.predict(wine[1][:, :12])


def test_one_class_alone_is_refused_by_fit_with_a_way_out(wine: tuple[Any, ...]) -> None:
    with pytest.raises(DataError, match=r"one class only: 0; .* use partial_fit"):
        SFFAClassifier().fit(wine[0], np.zeros(len(wine[0]), int))


BAD = {
    "NaN": (lambda x: np.where(x > 1000, np.nan, x), "contains NaN; impute or drop"),
    "infinity": (lambda x: np.where(x > 1000, np.inf, x), "contains infinity"),
    "objects": (lambda x: np.full(x.shape, {}, object), "must be a string or a real number"),
    "words": (lambda x: np.full(x.shape, "a"), "could not convert .* encode words as numbers"),
    "huge": (lambda x: x * 1e40, "too large to compute with"),
    "flat": (lambda x: x[:, 0], r"got 1D array of shape \(133,\)"),
    "dates": (lambda x: x.astype("datetime64[s]"), "holds dates or times"),
    "dates among objects": (
        lambda x: np.full(x.shape, datetime.date(2026, 1, 1)),
        r"holds dates or times \(datetime.date\)",
    ),
    "complex": (lambda x: csr_matrix(x).astype(complex), "not supported; give real numbers$"),
    "empty": (lambda x: x[:0], "inconsistent|minimum of 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_refused_in_one_line(name: str, wine: tuple[Any, ...]) -> None:
    spoil, words = BAD[name]
    with pytest.raises(DataError, match=words) as caught:
        SFFAClassifier().fit(spoil(wine[0]), wine[2])
    assert "\n" not in str(caught.value)


def test_a_sparse_table_is_learned_and_judged_as_the_dense_one(wine: tuple[Any, ...]) -> None:
    x, x_test, y, y_test = wine
    dense, thin = (SFFAClassifier(hidden=(60,), random_state=0) for _ in range(2))
    for start in range(0, 120, 40):
        rows = slice(start, start + 40)
        dense.partial_fit(x[rows], y[rows])
        thin.partial_fit(csr_matrix(x[rows]), y[rows])
    wanted = dense.decision_function(x_test)
    for table in (csr_matrix(x_test), csc_array(x_test)):
        assert (thin.decision_function(table) == wanted).all()
    twice = csr_matrix(np.concatenate([x, x]))
    fits = [
        SFFAClassifier(hidden=(60,), epochs=20, random_state=0).fit(twice, np.tile(y, 2)),
        SFFAClassifier(hidden=(60,), epochs=20, random_state=0).fit(
            csc_array(x), y, sample_weight=np.full(len(y), 2)
        ),
    ]
    scores = [clf.decision_function(x_test) for clf in fits]
    assert (scores[0] == scores[1]).all()
    assert fits[0].score(csr_matrix(x_test), y_test) > 0.9


def test_a_sparse_table_too_large_to_protect_is_refused_in_one_line() -> None:
    table, labels = csr_matrix((2_000_000, 200_000)), np.arange(2_000_000) % 2
    with pytest.raises(DataError, match=r"needs 1,000,000 rows of 200,000 features at once") as got:
        SFFAClassifier().partial_fit(table, labels)
    assert "\n" not in str(got.value)


def test_a_label_that_is_missing_is_named(wine: tuple[Any, ...]) -> None:
    labels = [None, *wine[2][1:].tolist()]
    with pytest.raises(DataError, match="label 0 is None, and 1 of 133 are missing"):
        SFFAClassifier().fit(wine[0], labels)


def test_a_column_of_dates_is_named(wine: tuple[Any, ...]) -> None:
    class Frame:  # what a data frame shows of its columns
        dtypes: ClassVar = {"price": np.dtype(float), "day": np.dtype("datetime64[s]")}
        shape = (133, 2)

    with pytest.raises(DataError, match=r"column 'day' holds dates or times \(datetime64"):
        SFFAClassifier().fit(Frame(), wine[2])


def test_steps_too_large_are_told(wine: tuple[Any, ...]) -> None:
    with pytest.raises(DivergedError, match=r"weights grew to .* lower lr=1e\+06"):
        SFFAClassifier(hidden=(60,), lr=1e6, epochs=2, random_state=0).fit(wine[0], wine[2])
    with pytest.warns(ConvergenceWarning, match="nothing was learned in 30 epochs"):
        SFFAClassifier(lr=10.0, epochs=30, random_state=0).fit(*load_iris(return_X_y=True))


def test_a_row_of_weight_two_is_two_rows_and_their_order_does_not_matter(
    wine: tuple[Any, ...],
) -> None:
    x, x_test, y, _ = wine
    weight = np.where(np.arange(len(y)) % 3 == 0, 2, 1)
    weight[:5] = 0
    order = np.random.default_rng(0).permutation(weight.sum())
    options = {"hidden": (60,), "epochs": 3, "random_state": 0}
    one = SFFAClassifier(**options).fit(x, y, sample_weight=weight)
    two = SFFAClassifier(**options).fit(x.repeat(weight, axis=0)[order], y.repeat(weight)[order])
    assert (one.decision_function(x_test) == two.decision_function(x_test)).all()


def test_a_class_of_more_weight_is_predicted_more_often() -> None:
    x = np.random.default_rng(0).normal(size=(400, 3))
    y = (x[:, 0] + np.random.default_rng(1).normal(size=400) > 1.5).astype(int)
    fits = [
        SFFAClassifier(hidden=(60,), epochs=20, class_weight=given, random_state=0).fit(x, y)
        for given in (None, "balanced")
    ]
    few, more = (float(clf.predict(x).mean()) for clf in fits)
    assert more > few + 0.05


def test_the_scale_follows_the_stream_after_a_first_call_of_one_row(
    wine: tuple[Any, ...],
) -> None:
    x, _, y, _ = wine
    clf = SFFAClassifier(hidden=(60,), random_state=0)
    clf.partial_fit(x[:1], y[:1])
    clf.partial_fit(x[1:], y[1:])
    np.testing.assert_allclose(clf.mean_, x.mean(axis=0))
    np.testing.assert_allclose(clf.scale_, x.std(axis=0))
    np.testing.assert_allclose(clf.network_.std.numpy(), x.std(axis=0), rtol=1e-5)


@pytest.mark.parametrize("continual", ["gaussian", "gem", "a-gem", "replay", "derpp", "er-ace"])
def test_what_is_kept_does_not_grow_with_the_calls(continual: str, wine: tuple[Any, ...]) -> None:
    x, _, y, _ = wine
    clf = SFFAClassifier(
        hidden=(60,),
        continual=continual,
        buffer_size=12,
        continual_options={f"{continual}.patterns": 4} if "gem" in continual else None,
        random_state=0,
    )
    sizes = []
    for start in (*range(0, 100, 5), *range(0, 100, 5)):
        clf.partial_fit(x[start : start + 5], y[start : start + 5])
        sizes.append(clf.strategy_.megabytes)
    assert sizes[-1] == sizes[19]


def test_pickles_of_earlier_versions_predict_as_they_did_and_learn_on() -> None:
    folder = Path(__file__).parent / "fixtures"
    x, y = load_iris(return_X_y=True)
    for clf, wanted, probability in pickle.loads(
        (folder / "classifiers-0.1.pickle").read_bytes()
    ).values():
        assert clf.predict(x).tolist() == wanted
        np.testing.assert_allclose(clf.predict_proba(x[:3]), probability, rtol=1e-4)
        clf.partial_fit(x[::10], y[::10])
        assert clf.classes_.tolist() == [0, 1, 2]


def test_a_class_never_learned_counts_as_wrong_and_is_told(
    fitted: SFFAClassifier, wine: tuple[Any, ...]
) -> None:
    with pytest.warns(UserWarning, match=r"labels \[9\] were never learned"):
        assert fitted.score(wine[1], np.full(len(wine[1]), 9)) == 0
    with pytest.raises(DataError, match=r"labels are strings, but .* numbers"):
        fitted.score(wine[1], np.full(len(wine[1]), "merlot"))


def test_a_narrow_layer_has_fewer_winners_unless_told(wine: tuple[Any, ...]) -> None:
    x, _, y, _ = wine
    assert sffa.SFFAClassifier(hidden=(20,), epochs=1).fit(x, y).network_.config.k == 5
    told = sffa.SFFAClassifier(hidden=(20,), epochs=1, network={"k": 7}).fit(x, y)
    assert told.network_.config.k == 7
    wide = sffa.SFFAClassifier(hidden=(np.int64(200),), epochs=1).fit(x, y)
    assert wide.network_.config.k == sffa.SFFAClassifier(epochs=1).fit(x, y).network_.config.k


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"continual": "reply"}, "unknown continual='reply'; did you mean 'replay'"),
        ({"continual": "joint"}, "unknown continual='joint'"),
        ({"continual": 3}, "continual is None or a name as 'gaussian', got 3"),
        ({"hidden": "wide"}, "hidden is 'auto' or layer widths"),
        ({"hidden": 40.5}, "hidden is 'auto' or layer widths, got 40.5"),
        ({"network": [3]}, r"network is a dictionary .* got \[3\]"),
        ({"random_state": "a"}, "random_state: 'a' cannot be used to seed"),
        ({"validation_fraction": "a"}, r"validation_fraction must lie in \(0, 1\), got 'a'"),
        ({"class_weight": {0: "a"}}, "class_weight is a number of 0 or more, got 'a'"),
        ({"class_weight": {0: -1}}, "class_weight is a number of 0 or more, got -1"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"epochs": 1.5}, "epochs is 'auto' or a whole number of at least 1, got 1.5"),
        ({"early_stopping": "often"}, "early_stopping is True, False or 'auto'"),
        ({"class_weight": {7: 2.0}}, r"class_weight names \[7\]"),
        ({"class_weight": "even"}, "class_weight is None, 'balanced' or a dictionary"),
        (
            {"continual": "ewc", "continual_options": {"ewc.lambda": 3.0}},
            "unknown option 'ewc.lambda'; did you mean 'ewc.strength'",
        ),
        ({"batch_size": "big"}, "batch_size is 'auto' or a whole number"),
        ({"early_stopping": True, "validation_fraction": 1.5}, "validation_fraction"),
        ({"network": {"kk": 3}}, "unknown option 'kk'"),
        ({"lr": -1.0}, "lr must be positive"),
        ({"hidden": (10,), "network": {"k": 8}}, "k = 8 winners do not fit"),
    ],
)
def test_an_option_that_cannot_work_is_named(
    options: dict[str, Any], words: str, wine: tuple[Any, ...]
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        SFFAClassifier(**options).fit(wine[0], wine[2])


def test_the_package_lists_the_classifiers() -> None:
    assert {"SFFAClassifier", "FFAClassifier"} <= set(sffa.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sffa.nothing  # type: ignore[attr-defined]
