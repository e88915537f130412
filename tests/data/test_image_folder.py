"""Folders of images that hold what no folder of images should."""

from __future__ import annotations

import os
import struct
import subprocess
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sffa.data import image_files, load, read_images
from sffa.errors import DataError

PIXELS = np.arange(20, dtype=np.uint8).reshape(4, 5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label in "ab":
        (tmp_path / label).mkdir()
        for i in range(5):
            Image.fromarray(PIXELS + i).save(tmp_path / label / f"{i}.png")
    return tmp_path


def png(width: int, height: int) -> bytes:
    """Return a small PNG file of so many black pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    squeeze, rows = zlib.compressobj(9), b""
    for _ in range(height):
        rows += squeeze.compress(bytes(width // 8 + 2))
    rows += squeeze.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    kinds = ((b"IHDR", header), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in kinds)


def refusal(folder: Path) -> str:
    """Return the one line with which the folder is refused, warnings being errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError) as raised:
            load(folder)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("side", [9_000, 12_000, 30_000])
def test_a_small_file_of_very_many_pixels_is_refused_undecoded(folder: Path, side: int):
    path = folder / "a" / "0.png"
    path.write_bytes(png(side, side) if side < 20_000 else png(side, 8))
    if side > 20_000:
        blob = bytearray(path.read_bytes())
        blob[20:24] = side.to_bytes(4, "big")
        blob[29:33] = zlib.crc32(blob[12:29]).to_bytes(4, "big")
        path.write_bytes(blob)
    told = refusal(folder)
    assert str(path) in told
    assert "SFFA_MAX_BYTES" in told or "decompression bomb" in told


def test_many_small_files_of_many_pixels_are_refused_together(folder: Path):
    blob = png(3000, 3000)
    for label in "ab":
        for i in range(20):
            (folder / label / f"{i}.png").write_bytes(blob)
    assert "unpacks to 360,000,000 bytes" in refusal(folder)


def test_a_webp_file_that_announces_a_huge_canvas_is_refused_unopened(folder: Path):
    content = b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + b"\xff\x3f\x00" * 2
    blob = b"RIFF" + struct.pack("<I", len(content)) + content
    (folder / "a" / "0.webp").write_bytes(blob)
    assert "0.webp: unpacks to 1,073,741,824 bytes" in refusal(folder)


def test_a_program_for_printers_is_no_image(folder: Path):
    (folder / "a" / "0.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 4\n")
    assert "0.png: not an image" in refusal(folder)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (os.mkfifo, "named pipe"),
        (Path.mkdir, "directory"),
        (lambda path: path.symlink_to("gone"), "No such file"),
        (lambda path: path.symlink_to(path.name), "symbolic links"),
        (lambda path: path.symlink_to("/dev/zero"), "character device"),
    ],
)
def test_what_is_no_regular_file_is_named_at_once(folder: Path, make, says: str):
    make(folder / "b" / "odd.png")
    told = refusal(folder)
    assert "odd.png" in told
    assert says in told


def test_links_that_lead_back_are_followed_once(folder: Path):
    for label in "ab":
        for name in ("up", "self", "other"):
            target = {"up": "..", "self": ".", "other": "../a"}[name]
            (folder / label / name).symlink_to(target)
    (folder / "linked.png").symlink_to("a/0.png")
    assert len(image_files(folder)) == 11
    assert load(folder).classes == 2


def test_a_folder_deeper_than_the_stack_is_read(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(1100):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(tmp_path)
    try:
        with pytest.raises(DataError, match="an empty folder"):
            image_files(tmp_path)
    finally:
        subprocess.run(["rm", "-rf", "d"], check=True)


def test_no_images_at_all_are_refused():
    with pytest.raises(DataError, match="no images"):
        read_images([])
