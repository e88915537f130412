from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sffa.data import from_folder, from_idx, from_npz, idx, image_files, load
from sffa.errors import DataError

X = np.random.default_rng(0).integers(0, 256, (20, 4, 5), dtype=np.uint8)
Y = (np.arange(20) % 2).astype(np.uint8)


def test_npz_with_both_splits_is_read_as_it_is(tmp_path: Path):
    np.savez(tmp_path / "mine.npz", x_train=X, y_train=Y, x_test=X[:6], y_test=Y[:6])
    data = load(tmp_path / "mine.npz")
    assert (data.name, len(data.train), len(data.test)) == ("mine", 20, 6)
    np.testing.assert_array_equal(data.train.x, X)


def test_npz_with_x_and_y_is_split(tmp_path: Path):
    np.savez_compressed(tmp_path / "mine.npz", x=X, y=Y, class_names=np.array(["no", "yes"]))
    data = load(str(tmp_path / "mine.npz"))
    assert (len(data.train), len(data.test), data.class_names) == (16, 4, ("no", "yes"))


def _npz(**arrays: object) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize(
    ("blob", "says"),
    [
        (_npz(x=np.array([{}, None], object), y=Y), "pickled objects"),
        (_npz(a=X, b=Y), "expected x_train and y_train, or x and y; found a, b"),
        (_npz(**{"a\nb": X}), "expected x_train and y_train, or x and y; found a b"),
        (_npz(x=X, y=Y)[:200], "not a sound .npz"),
        (b"", "not a sound .npz"),
        (b"something else", "not a sound .npz"),
    ],
)
def test_an_npz_that_cannot_be_used_is_refused_and_never_unpickled(tmp_path: Path, blob, says):
    path = tmp_path / "mine.npz"
    path.write_bytes(blob)
    with pytest.raises(DataError) as raised:
        from_npz(path)
    assert says in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_bare_array_is_not_an_npz(tmp_path: Path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(DataError, match="one bare array"):
        from_npz(tmp_path / "x.npy")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_folder_of_idx_pairs_is_read_by_its_names(tmp_path: Path, suffix: str):
    idx.write(tmp_path / f"train-images-idx3-ubyte{suffix}", X)
    idx.write(tmp_path / "train-labels-idx1-ubyte.gz", Y)
    idx.write(tmp_path / f"t10k-images-idx3-ubyte{suffix}", X[:6])
    idx.write(tmp_path / "t10k-labels-idx1-ubyte", Y[:6])
    data = load(tmp_path)
    np.testing.assert_array_equal(data.train.x, X)
    np.testing.assert_array_equal(data.test.y, Y[:6])


def test_colour_images_come_from_idx_of_four_dimensions(tmp_path: Path):
    colour = np.stack([X, X // 2, X // 3], axis=3)
    idx.write(tmp_path / "my-images-idx4-ubyte.gz", colour)
    idx.write(tmp_path / "my-labels-idx1-ubyte.gz", Y)
    data = from_idx(tmp_path / "my-images-idx4-ubyte.gz", tmp_path / "my-labels-idx1-ubyte.gz")
    assert data.shape == (4, 5, 3)
    assert load(tmp_path).shape == (4, 5, 3)


def test_a_count_mismatch_names_both_files(tmp_path: Path):
    idx.write(tmp_path / "images", X)
    idx.write(tmp_path / "labels", Y[:19])
    with pytest.raises(DataError, match=r"images holds 20 images but .*labels 19 labels"):
        load(tmp_path)


def test_idx_images_without_labels_are_refused(tmp_path: Path):
    idx.write(tmp_path / "train-images", X)
    with pytest.raises(DataError, match="no pair of IDX files"):
        from_idx(tmp_path)


def test_two_candidates_for_one_split_are_refused(tmp_path: Path):
    for prefix in ("a", "b"):
        idx.write(tmp_path / f"{prefix}-images", X)
        idx.write(tmp_path / f"{prefix}-labels", Y)
    with pytest.raises(DataError, match="a-images and b-images both look like train"):
        load(tmp_path)


def _fill(folder: Path, classes: str, n: int, mode: str = "L") -> None:
    for label in classes:
        (folder / label).mkdir(parents=True)
        for i in range(n):
            image = Image.fromarray(X[i]).convert(mode)
            image.save(folder / label / f"{i:02}.png")


def test_a_folder_of_grayscale_images_is_split_in_five(tmp_path: Path):
    _fill(tmp_path / "mine", "ab", 10)
    data = load(tmp_path / "mine")
    assert (data.name, data.class_names, data.shape) == ("mine", ("a", "b"), (4, 5))
    assert (len(data.train), len(data.test)) == (16, 4)


def test_train_and_test_folders_are_the_splits(tmp_path: Path):
    _fill(tmp_path / "train", "abc", 4)
    _fill(tmp_path / "test", "ac", 2)
    data = from_folder(tmp_path)
    assert data.test.y.tolist() == [0, 0, 2, 2]
    np.testing.assert_array_equal(data.train.x[:4], X[:4])


def test_one_colour_image_makes_all_of_them_rgb(tmp_path: Path):
    _fill(tmp_path, "a", 5)
    _fill(tmp_path, "b", 5, mode="RGBA")
    assert load(tmp_path).shape == (4, 5, 3)


def test_images_of_one_bit_and_of_sixteen_are_grayscale(tmp_path: Path):
    _fill(tmp_path, "a", 5, mode="1")
    (tmp_path / "b").mkdir()
    for i in range(5):
        Image.fromarray(X[i].astype(np.uint16) * 257).save(tmp_path / "b" / f"{i}.png")
    data = load(tmp_path)
    assert data.shape == (4, 5)
    wide = {image.tobytes() for part in (data.train, data.test) for image in part.x[part.y == 1]}
    assert wide == {X[i].tobytes() for i in range(5)}


def test_hidden_and_foreign_files_are_passed_over(tmp_path: Path):
    _fill(tmp_path, "ab", 5)
    (tmp_path / ".cache").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("not an image")
    (tmp_path / "README.md").write_text("nor this")
    assert load(tmp_path).classes == 2


def test_the_first_image_of_another_size_is_named(tmp_path: Path):
    _fill(tmp_path, "ab", 3)
    Image.new("L", (9, 9)).save(tmp_path / "b" / "01.png")
    with pytest.raises(DataError, match=r"01.png: 9x9 pixels, but .*00.png has 5x4"):
        load(tmp_path)


def test_a_damaged_image_is_named(tmp_path: Path):
    _fill(tmp_path, "ab", 3)
    path = tmp_path / "b" / "01.png"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match=r"01.png: a damaged image"):
        load(tmp_path)
    path.write_bytes(b"text")
    with pytest.raises(DataError, match=r"01.png: not an image"):
        load(tmp_path)


def test_empty_and_one_sided_folders_are_refused(tmp_path: Path):
    with pytest.raises(DataError, match="one folder of images per class"):
        load(tmp_path)
    _fill(tmp_path, "a", 3)
    with pytest.raises(DataError, match="one class only"):
        load(tmp_path)
    (tmp_path / "b").mkdir()
    with pytest.raises(DataError, match="b: an empty folder"):
        load(tmp_path)


def test_a_test_class_that_is_never_trained_is_refused(tmp_path: Path):
    _fill(tmp_path / "train", "ab", 3)
    _fill(tmp_path / "test", "abz", 3)
    with pytest.raises(DataError, match="test label 'z' out of range"):
        load(tmp_path)


def test_paths_that_lead_nowhere_are_refused(tmp_path: Path):
    with pytest.raises(DataError, match="no such file or folder"):
        load(tmp_path / "gone")
    (tmp_path / "table.doc").write_text("1,2")
    with pytest.raises(DataError, match=r"expected an .npz file"):
        load(tmp_path / "table.doc")


def test_image_files_are_one_file_or_all_in_and_below_a_folder(tmp_path: Path):
    with pytest.raises(DataError, match="an empty folder"):
        image_files(tmp_path)
    with pytest.raises(DataError, match="No such file"):
        image_files(tmp_path / "gone")
    _fill(tmp_path, "ab", 2)
    Image.new("L", (5, 4)).save(tmp_path / "0.png")
    (tmp_path / "notes.txt").write_text("not an image")
    found = [str(path.relative_to(tmp_path)) for path in image_files(tmp_path)]
    assert found == ["0.png", "a/00.png", "a/01.png", "b/00.png", "b/01.png"]
    assert image_files(tmp_path / "0.png") == [tmp_path / "0.png"]
