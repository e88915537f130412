from __future__ import annotations

import hashlib

import numpy as np
import pytest

from sffa.data import Dataset, Split, load, names
from sffa.errors import ConfigurationError, DataError
from sffa.standardise import moments


@pytest.fixture
def dataset() -> Dataset:
    x = np.arange(100 * 6, dtype=np.float32).reshape(100, 2, 3)
    y = np.arange(100) % 4
    return Dataset("d", Split(x, y), Split(x[:10], y[:10]), ("a", "b", "c", "d"), 0.0, 1.0)


def test_flat_is_a_view_of_one_row_per_example(dataset: Dataset):
    flat = dataset.train.flat
    assert flat.shape == (100, 6)
    assert np.shares_memory(flat, dataset.train.x)


def test_a_dataset_describes_itself(dataset: Dataset):
    assert (dataset.shape, dataset.features, dataset.classes) == ((2, 3), 6, 4)
    assert repr(dataset) == "Dataset('d', 100 train, 10 test, shape (2, 3), 4 classes)"
    assert repr(dataset.test) == "Split(10 examples of (2, 3), float32)"


def test_images_and_labels_of_different_number_are_refused():
    with pytest.raises(DataError, match="do not go with labels"):
        Split(np.zeros((3, 2, 2), np.uint8), np.zeros(2, np.int64))


def test_hold_out_parts_the_training_split_and_nothing_else(dataset: Dataset):
    rest, held = dataset.hold_out(30, seed=7)
    assert (len(rest.train), len(held)) == (70, 30)
    together = np.concatenate([rest.train.flat[:, 0], held.flat[:, 0]])
    assert sorted(together) == sorted(dataset.train.flat[:, 0])
    assert rest.test is dataset.test
    assert (rest.mean, rest.std) == (dataset.mean, dataset.std)
    np.testing.assert_array_equal(held.y, held.flat[:, 0] // 6 % 4)


def test_hold_out_depends_on_the_seed_only(dataset: Dataset):
    first, again, other = (dataset.hold_out(30, seed=s)[1].x for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("n", [0, -1, 100, 101])
def test_hold_out_refuses_to_leave_either_part_empty(dataset: Dataset, n: int):
    with pytest.raises(ConfigurationError, match="expected 1 to 99"):
        dataset.hold_out(n, seed=0)


def test_moments_of_pixels_are_of_pixels_scaled_to_one():
    x = np.random.default_rng(0).integers(0, 256, (50, 9, 9), dtype=np.uint8)
    assert moments(x) == pytest.approx(((x / 255).mean(), (x / 255).std()), rel=1e-12)


def test_moments_of_floats_are_of_the_raw_values():
    x = np.random.default_rng(0).normal(1000, 3, (50, 9)).astype(np.float32)
    wide = x.astype(np.float64)
    assert moments(x) == pytest.approx((wide.mean(), wide.std()), rel=1e-6)


def test_constant_images_are_refused():
    with pytest.raises(DataError, match="nothing can be learned"):
        moments(np.full((3, 2, 2), 7, np.uint8))


def test_digits_are_those_of_scikit_learn_split_by_it():
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    bunch, digits = load_digits(), load("digits")
    asked = {"test_size": 360, "random_state": 0, "stratify": bunch.target}
    for split, places in zip(
        (digits.train, digits.test), train_test_split(np.arange(1797), **asked), strict=True
    ):
        wanted = np.rint(bunch.images[np.sort(places)] * (255 / 16))
        np.testing.assert_array_equal(np.asarray(split.x).reshape(wanted.shape), wanted)
        np.testing.assert_array_equal(split.y, bunch.target[np.sort(places)])


def test_digits_is_the_same_split_everywhere():
    digits = load("digits")
    assert (len(digits.train), len(digits.test)) == (1437, 360)
    assert digits.train.x.dtype == np.uint8
    assert digits.train.y.dtype == np.int64
    assert (digits.train.x.min(), digits.train.x.max()) == (0, 255)
    share = np.bincount(digits.test.y) / np.bincount(digits.train.y)
    assert share.min() > 0.24
    assert share.max() < 0.26
    found = hashlib.sha256(digits.test.x.tobytes() + digits.test.y.tobytes()).hexdigest()
    assert found == "99ac20baf448e93ec299f54c03a2c33ee412f212ef1a8cfed87dcecc7d550da9"


def test_two_loads_do_not_share_memory():
    first, second = load("digits"), load("digits")
    assert not np.shares_memory(first.train.x, second.train.x)


def test_the_registry_knows_the_names_it_promises():
    known = ["digits", "mnist", "fmnist", "kmnist", "emnist-letters", "cifar10", "kmnist-reduced"]
    assert names() == known


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(ConfigurationError, match="unknown dataset 'mnits'; did you mean 'mnist'"):
        load("mnits")
