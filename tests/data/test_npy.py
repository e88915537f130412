"""Arrays of .npy and .npz files: what they unpack to is known before it is allocated."""

from __future__ import annotations

import io
import os
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sffa.data import load, npy
from sffa.errors import ConfigurationError, DataError

X = np.random.default_rng(0).normal(size=(20, 5))
Y = np.arange(20) % 2


def header(shape: object, descr: object = "<f8") -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    text += " " * (117 - len(text)) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def packed(blob: bytes, method: int = zipfile.ZIP_DEFLATED, zeros: int = 0) -> bytes:
    """Return an .npz file whose x is ``blob`` followed by so many zeros."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as stream:
            stream.write(blob)
            for start in range(0, zeros, 1 << 20):
                stream.write(bytes(min(1 << 20, zeros - start)))
        y = io.BytesIO()
        np.save(y, Y)
        archive.writestr("y.npy", y.getvalue())
    return out.getvalue()


SOUND = header((20, 5)) + X.tobytes()
WHOLE = packed(SOUND)


def encrypted() -> bytes:
    blob = bytearray(WHOLE)
    central = blob.index(b"PK\x01\x02")
    blob[central + 8] |= 1
    blob[6] |= 1
    return bytes(blob)


def announcing(size: int, content: bytes = SOUND) -> bytes:
    """Return the file with another size of x in the archive's directory."""
    blob = bytearray(packed(content))
    central = blob.index(b"PK\x01\x02")
    blob[central + 24 : central + 28] = size.to_bytes(4, "little")
    return bytes(blob)


@pytest.mark.parametrize(
    ("blob", "says"),
    [
        (encrypted(), "encrypted"),
        (packed(header((20, 5))), "truncated, the header announces 800 bytes"),
        (packed(SOUND + b"x"), "trailing bytes"),
        (packed(header((2**40, 2**40))), "truncated"),
        (packed(header((-1,)) + bytes(8)), "impossible shape"),
        (packed(header((1,) * 40) + bytes(8)), "impossible shape"),
        (packed(header((True, 1)) + bytes(8)), "."),
        (packed(header((1,), "|O") + bytes(8)), "pickled objects"),
        (packed(header((1,), [("a", "<f8")]) + bytes(8)), "not plain numbers"),
        (packed(header((1,), "<f3") + bytes(8)), "not a sound .npy header"),
        (packed(header((1,), "\\q") + bytes(8)), "not a sound .npy header"),
        (packed(b"\x93NUMPY\x01\x00\xff\xff{"), "not a sound .npy header"),
        (packed(b"\x93NUMPY\x03\x00" + SOUND[8:]), "not a plain array"),
        (packed(b""), "not a sound .npy header"),
        (announcing(100), "."),
        (announcing(len(SOUND), SOUND[:-100]), "truncated after 700 of 800 bytes"),
        (announcing(len(SOUND), SOUND + b"more"), "not a sound .np"),
        (announcing(0xFFFFFFF0), "unpacks to 4,294,9"),
        (WHOLE[:-30], "not a sound .npz"),
        (WHOLE[:200] + b"\0" * 40 + WHOLE[240:], "not a sound .np"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, blob: bytes, says: str):
    path = tmp_path / "mine.npz"
    path.write_bytes(blob)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError) as raised:
            load(path)
    assert says in str(raised.value)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


def test_a_small_file_that_unpacks_to_much_is_refused_before_it_is_unpacked(tmp_path: Path):
    path = tmp_path / "bomb.npz"
    path.write_bytes(packed(header((300 << 17, 1)), zeros=300 << 20))
    assert path.stat().st_size < 400_000
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"more than the limit of .*set SFFA_MAX_BYTES"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_the_limit_can_be_set(tmp_path: Path, monkeypatch):
    path = tmp_path / "mine.npz"
    path.write_bytes(WHOLE)
    monkeypatch.setenv("SFFA_MAX_BYTES", "1000")
    with pytest.raises(DataError, match="more than the limit of 1,000"):
        load(path)
    monkeypatch.setenv("SFFA_MAX_BYTES", "2000")
    assert len(load(path).train) == 16
    monkeypatch.setenv("SFFA_MAX_BYTES", "much")
    with pytest.raises(ConfigurationError, match="number of bytes"):
        load(path)


def test_a_compression_that_numpy_never_writes_is_refused(tmp_path: Path):
    (tmp_path / "mine.npz").write_bytes(packed(SOUND, zipfile.ZIP_LZMA))
    with pytest.raises(DataError, match="zip method 14"):
        npy.read_npz(tmp_path / "mine.npz")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_every_compression_and_order_is_read(tmp_path: Path, method: int):
    out = io.BytesIO()
    np.save(out, np.asfortranarray(X))
    (tmp_path / "mine.npz").write_bytes(packed(out.getvalue(), method))
    arrays = npy.read_npz(tmp_path / "mine.npz")
    np.testing.assert_array_equal(arrays["x"], X)
    np.testing.assert_array_equal(arrays["y"], Y)


def test_members_that_are_not_wanted_are_never_read(tmp_path: Path):
    np.savez(tmp_path / "mine.npz", x=X, y=Y, notes=np.array([{}], object))
    assert len(load(tmp_path / "mine.npz").train) == 16
    assert npy.names(tmp_path / "mine.npz") == ["notes", "x", "y"]


@pytest.mark.parametrize("array", [X, np.asfortranarray(X), X[:0], np.array(3.0), Y.astype(">i2")])
def test_one_array_is_mapped_and_never_changed_on_disk(tmp_path: Path, array):
    np.save(tmp_path / "x.npy", array)
    before = (tmp_path / "x.npy").read_bytes()
    found = npy.read_arrays(tmp_path / "x.npy")[""]
    np.testing.assert_array_equal(found, array)
    if found.size:
        found[...] = 7
    assert (tmp_path / "x.npy").read_bytes() == before


def test_a_bare_array_cut_short_is_one_line(tmp_path: Path):
    (tmp_path / "x.npy").write_bytes(SOUND[:-1])
    with pytest.raises(DataError, match="truncated"):
        npy.read_npy(tmp_path / "x.npy")


def test_a_named_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "mine.npz")
    with pytest.raises(DataError, match="named pipe"):
        load(tmp_path / "mine.npz")
