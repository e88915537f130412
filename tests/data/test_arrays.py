from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse

from sffa.data import from_arrays
from sffa.errors import DataError

X = np.random.default_rng(0).integers(0, 256, (20, 4, 5), dtype=np.uint8)
Y = np.arange(20) % 2


def test_features_of_a_table_are_standardised_each_by_itself():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 3)) * [1, 1000, 0] + [0, 50, 7]
    data = from_arrays(table, Y, table, Y)
    np.testing.assert_allclose(data.mean, data.train.x.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(data.std, [*data.train.x.std(axis=0)[:2], 1.0], rtol=1e-4)
    shared = from_arrays(rng.random((20, 3)), Y)
    assert isinstance(shared.mean, float)
    with pytest.raises(DataError, match="every training example is the same"):
        from_arrays(np.full((20, 3), 7.5), Y)


def test_a_checksum_tells_data_of_the_same_size_apart():
    turned = from_arrays(X[::-1].copy(), Y, X, Y)
    assert from_arrays(X, Y, X, Y).checksum == from_arrays(X, Y, X, Y).checksum
    assert turned.checksum != from_arrays(X, Y, X, Y).checksum


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.where(Y, 7, -3), ("-3", "7")),
        (np.where(Y, "dog", "cat"), ("cat", "dog")),
        (np.where(Y, "dog", "cat").astype(object), ("cat", "dog")),
        (Y.astype(bool), ("False", "True")),
        (Y.astype(np.uint8).tolist(), ("0", "1")),
    ],
)
def test_labels_of_any_kind_become_0_to_c_with_their_names_kept(labels, expected):
    data = from_arrays(X, labels, X, labels)
    assert data.class_names == expected
    assert data.train.y.dtype == np.int64
    np.testing.assert_array_equal(data.train.y, Y)
    np.testing.assert_array_equal(data.test.y, Y)


def test_with_class_names_labels_are_positions_or_names():
    names = ["b", "a", "never seen"]
    assert from_arrays(X, Y, X, Y, class_names=names).train.y.tolist() == Y.tolist()
    swapped = from_arrays(X, np.where(Y, "b", "a"), X, Y, class_names=names)
    assert swapped.train.y.tolist() == (1 - Y).tolist()
    assert swapped.classes == 3


@pytest.mark.parametrize(
    ("given", "dtype", "shape"),
    [
        (X, np.uint8, (4, 5)),
        (X.astype(np.int64), np.uint8, (4, 5)),
        (X.astype(np.int64) - 1, np.float32, (4, 5)),
        (X / 255, np.float32, (4, 5)),
        (X.reshape(20, 20).tolist(), np.uint8, (20,)),
        (X[..., None], np.uint8, (4, 5)),
        (X[:, None], np.uint8, (4, 5)),
        (np.repeat(X[:, None], 3, axis=1), np.uint8, (4, 5, 3)),
        (np.repeat(X[..., None], 3, axis=3), np.uint8, (4, 5, 3)),
    ],
)
def test_images_become_pixels_or_floats_with_channels_last(given, dtype, shape):
    data = from_arrays(given, Y, given, Y)
    assert data.train.x.dtype == dtype
    assert data.shape == shape


def test_without_a_test_split_a_fixed_fifth_of_each_class_is_put_aside():
    x = np.arange(100, dtype=np.float32)[:, None]
    y = np.repeat([0, 1], [30, 70])
    first, again = from_arrays(x, y), from_arrays(x, y)
    np.testing.assert_array_equal(first.test.x, again.test.x)
    assert np.bincount(first.test.y).tolist() == [6, 14]
    together = np.concatenate([first.train.x, first.test.x]).ravel()
    assert sorted(together) == list(range(100))


def _spoiled(value: float) -> np.ndarray:
    x = X.astype(np.float64)
    x[3, 1, 1] = value
    return x


ZEROS = np.zeros(20, int)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((_spoiled(np.nan), Y), "NaN or infinite values in 1 of 20 examples, first in example 3"),
        ((_spoiled(np.inf), Y), "NaN or infinite"),
        ((_spoiled(1e300), Y), "NaN or infinite"),
        ((X, Y, _spoiled(np.nan), Y), "test images: NaN or infinite"),
        ((X[:0], Y[:0]), "training images are empty"),
        ((X, Y, X[:0], Y[:0]), "test images are empty"),
        ((X, Y[:19]), "20 images but 19 labels"),
        ((X, Y, X, Y[:3]), "test: 20 images but 3 labels"),
        ((X, ZEROS), "at least two classes"),
        ((X, Y, X, Y + 1), "test label 2 out of range"),
        ((X, Y, X, np.where(Y, "dog", "cat")), "test label 'cat' out of range"),
        ((X, np.where(Y, "dog", "cat"), X, Y), "test label 0 out of range"),
        ((X, Y + 1, X, Y, ["a", "b"]), "training label 2 out of range, expected 0 to 1"),
        ((X, Y - 1, X, Y, ["a", "b"]), "training label -1 out of range"),
        ((X, Y, X, Y + 1, ["a", "b"]), "test label 2 out of range, expected 0 to 1"),
        ((X, Y, X, Y, ["a", "a"]), "two classes have the same name"),
        ((X, Y, X[:, :3], Y), "test images of (3, 5), training images of (4, 5)"),
        ((X, Y, X / 255, Y), "test images are float32, training images uint8"),
        ((X, Y, X), "go together"),
        ((X, Y + 0.5), "integers or strings, got float64"),
        ((X, Y[:, None]), "of shape (20, 1)"),
        ((X[:, 0, 0], Y), "got shape (20,)"),
        (([np.zeros((2, 2)), np.zeros((3, 3))], [0, 1]), "not all of the same size"),
        ((np.array(["a", "b"]), [0, 1]), "must be numbers"),
        ((X[:2], Y[:2]), "too few to put some aside"),
        ((np.zeros_like(X), Y), "nothing can be learned"),
    ],
)
def test_examples_that_cannot_be_used_are_refused_in_one_line(arguments, says):
    with pytest.raises(DataError) as raised:
        from_arrays(*arguments)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


class Frame:
    """What a data frame or a series is to us."""

    def __init__(self, values: object) -> None:
        self.values = np.asarray(values)

    def to_numpy(self) -> np.ndarray:
        return self.values


WORDS = ["cat", "dog"] * 10
MASKED = np.ma.masked_array(X, X > 250)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Frame(X), Frame(Y)),
        (Frame(X.astype(object)), Frame(Y.astype(object))),
        (torch.from_numpy(X), torch.from_numpy(Y)),
        (torch.from_numpy(X).float().requires_grad_(), torch.from_numpy(Y).to(torch.int16)),
        (torch.from_numpy(X // 2 * 2).to(torch.bfloat16), Y),
        (X, Frame(np.array(WORDS, object))),
        (X, WORDS),
        (X, np.where(Y, 2**63 + 5, 3).astype(np.uint64)),
        (X, np.where(Y, 3, -(2**62))),
        (X, Y.astype(np.float16)),
    ],
)
def test_frames_tensors_and_objects_are_read_as_arrays(x, y):
    data = from_arrays(x, y, x, y)
    assert data.shape == (4, 5)
    np.testing.assert_array_equal(data.train.y, Y)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((X[:, 0, 0], Y), "reshape(-1, 1)"),
        ((X.astype("datetime64[s]"), Y), "must be numbers of one size, got datetime64[s]"),
        ((X.astype(complex), Y), "got complex128"),
        ((Frame(np.array([[1, "a"], [2, 3]], object)), [0, 1]), "example 0 is a str"),
        (([[1.0, None], [2.0, 3.0]] * 10, Y), "example 0 is missing: None"),
        ((X, [*WORDS[:-1], None]), "example 19 is missing: None"),
        ((X, [*WORDS[:-1], float("nan")]), "example 19 is a float among text"),
        ((X, [*WORDS[:-1], 3]), "example 19 is a int among text"),
        ((X, np.where(np.arange(20) == 4, np.nan, Y)), "label of example 4 is missing: nan"),
        ((X, Y * 1e300), "labels are too large"),
        ((X, [2**70, 0] * 10), "too large"),
        ((X, [[0], [0, 1]] * 10), "labels are not all of the same size"),
        ((X, np.array([{}, []] * 10, object)), "labels"),
        ((X, Y.astype("datetime64[D]")), "integers or strings, got datetime64[D]"),
        ((X, [b"a", b"b"] * 10), "integers or strings, got |S1"),
        ((X, []), "20 images but 0 labels"),
        ((X, None), "labels"),
        ((None, Y), "training images"),
        (([], []), "(0,)"),
        ((object(), Y), "training images"),
        ((X, 3), "shape ()"),
        ((MASKED, Y), "masked"),
        ((sparse.csr_matrix(X.reshape(20, -1)), Y), "sparse"),
        ((X, np.where(Y, 2**63 + 5, 1).astype(np.uint64), X, Y, ["a", "b"]), "label 92233"),
        ((X, Y, X, Y, 7), "class names"),
        ((X, WORDS, X, ["w" * 10_000] * 20), "out of range"),
    ],
)
def test_odd_arrays_are_one_short_line(arguments, says):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError) as raised:
            from_arrays(*arguments)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300
