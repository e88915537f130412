from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sffa.data import idx
from sffa.errors import DataError

DTYPES = st.sampled_from(["u1", "i1", "i2", "i4", "f4", "f8", ">i4", ">f8"])
SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)
IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@settings(max_examples=60)
@given(hnp.arrays(DTYPES, SHAPES), st.booleans())
def test_every_type_and_shape_of_the_format_survives_a_round_trip(array, zipped):
    content = idx.encode(array)
    blob = gzip.compress(content) if zipped else content
    back = idx.decode(idx.inflate(blob, "memory"))
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("name", ["images", "images.gz"])
def test_a_written_file_reads_back_as_a_writable_array(tmp_path: Path, name: str):
    idx.write(tmp_path / name, IMAGES)
    back = idx.read(tmp_path / name)
    np.testing.assert_array_equal(back, IMAGES)
    assert back.flags.writeable
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_compression_is_told_by_the_content_not_by_the_name(tmp_path: Path):
    (tmp_path / "raw.gz").write_bytes(idx.encode(IMAGES))
    (tmp_path / "zipped").write_bytes(gzip.compress(idx.encode(IMAGES)))
    for name in ("raw.gz", "zipped"):
        np.testing.assert_array_equal(idx.read(tmp_path / name), IMAGES)


def test_a_gz_of_several_members_is_read_whole():
    content = idx.encode(IMAGES)
    blob = gzip.compress(content[:10]) + gzip.compress(content[10:]) + b"\0\0"
    np.testing.assert_array_equal(idx.decode(idx.inflate(blob, "memory")), IMAGES)


def _flipped_crc(blob: bytes) -> bytes:
    return blob[:-8] + bytes([blob[-8] ^ 1]) + blob[-7:]


CONTENT = idx.encode(IMAGES)
ZIPPED = gzip.compress(CONTENT, mtime=0)


@pytest.mark.parametrize(
    ("blob", "says"),
    [
        (ZIPPED[: len(ZIPPED) // 2], "truncated gz data"),
        (ZIPPED[:-1], "truncated gz data"),
        (_flipped_crc(ZIPPED), "damaged gz data"),
        (ZIPPED + b"junk", "4 bytes that are not gzip follow"),
        (b"", "not an IDX file, it starts with nothing"),
        (b"\x89PNG\r\n", "not an IDX file, it starts with 89504e47"),
        (b"\0\0\x07\x01\0\0\0\0", "not an IDX file"),
        (b"\0\0\x08\x05" + b"\0\0\0\0" * 5, "5 dimensions; expected 1 to 4"),
        (b"\0\0\x08\x00", "0 dimensions"),
        (CONTENT[:9], "truncated, the IDX header needs 16 bytes"),
        (CONTENT[:-1], "truncated, the header announces 24 bytes of values (2, 3, 4), found 23"),
        (CONTENT + b"\0", "trailing bytes, the header announces 24 bytes"),
        (b"\0\0\x08\x02" + b"\xff" * 8 + b"abc", "truncated, the header announces"),
    ],
    ids=[
        "half of gz",
        "gz less a byte",
        "gz with another checksum",
        "gz and more",
        "nothing",
        "a picture",
        "an unknown kind",
        "too many dimensions",
        "no dimension",
        "half a header",
        "a byte too few",
        "a byte too many",
        "a huge shape",
    ],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path: Path, blob: bytes, says: str):
    path = tmp_path / "images"
    path.write_bytes(blob)
    with pytest.raises(DataError) as raised:
        idx.read(path)
    assert str(path) in str(raised.value)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_gz_that_would_fill_the_memory_is_stopped_at_the_limit(tmp_path: Path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(DataError, match="more than the limit of 100,000 bytes"):
        idx.read(path, limit=100_000)


def test_an_absent_file_is_an_error_of_data(tmp_path: Path):
    with pytest.raises(DataError, match="No such file"):
        idx.read(tmp_path / "nothing")


def test_a_disk_that_fails_is_one_line(tmp_path: Path, failing_disk: None):
    (tmp_path / "images").write_bytes(idx.encode(IMAGES))
    with pytest.raises(DataError, match=r"images: cannot be read \(Input/output error\)"):
        idx.read(tmp_path / "images")


@pytest.mark.parametrize(
    "array", [np.zeros(3, np.int64), np.zeros((1,) * 5, np.uint8), np.array(1, np.uint8)]
)
def test_what_the_format_cannot_hold_is_refused(array):
    with pytest.raises(DataError, match="IDX cannot hold"):
        idx.encode(array)
