"""What unpacks to far more than it holds, or says it does, is refused early and in one line."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sffa.data import idx
from sffa.data.directory import find
from sffa.data.entry import File
from sffa.data.fetch import fetch
from sffa.data.inventory import verify
from sffa.data.mirrors import Archive
from sffa.data.registry import REGISTRY
from sffa.data.unpack import extract
from sffa.errors import DataError

MIB = 1 << 20


def refused_cheaply(action: Callable[[], object], most: int = 40 * MIB) -> str:
    """Return the line of the refusal, which must come without much memory or time."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(DataError) as raised:
            action()
        assert tracemalloc.get_traced_memory()[1] < most
        assert time.process_time() - began < 30
    finally:
        tracemalloc.stop()
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_gz_of_very_many_members_is_read_in_time(tmp_path: Path):
    blob = gzip.compress(b"", mtime=0) * 100_000 + gzip.compress(
        idx.encode(np.arange(3, dtype="u1"))
    )
    (tmp_path / "labels.gz").write_bytes(blob)
    began = time.process_time()
    assert idx.read(tmp_path / "labels.gz").tolist() == [0, 1, 2]
    assert time.process_time() - began < 10


def test_a_gz_is_bounded_by_what_it_holds(tmp_path: Path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(300 * MIB)))
    told = refused_cheaply(lambda: idx.read(tmp_path / "bomb.gz"), most=600 * MIB)
    assert "set SFFA_MAX_BYTES" in told


def test_idx_without_values_but_with_huge_sides_is_refused():
    blob = b"\0\0\x08\x04" + bytes(4) + b"\xff" * 12
    assert "impossible shape" in refused_cheaply(lambda: idx.decode(blob))


def test_an_idx_pipe_is_refused_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "images")
    assert "named pipe" in refused_cheaply(lambda: idx.read(tmp_path / "images"))


def archive_of(name: str, size: int, kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr(name, bytes(size))
        return out.getvalue()
    fast = {"preset": 0} if kind == "xz" else {"compresslevel": 1}
    with tarfile.open(fileobj=out, mode=f"w:{kind}", **fast) as tar:  # type: ignore[call-overload]
        info = tarfile.TarInfo(name)
        info.size = size
        tar.addfile(info, io.BytesIO(bytes(size)))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["zip", "gz", "xz"])
@pytest.mark.parametrize("name", ["images", "something else"])
def test_an_archive_that_unpacks_to_much_is_refused(tmp_path: Path, kind: str, name: str):
    (tmp_path / "package").write_bytes(archive_of(name, 300 * MIB, kind))
    if kind == "zip" and name != "images":
        return  # members that are not wanted are never unpacked
    told = refused_cheaply(lambda: extract(tmp_path / "package", [File("images", (1,))], tmp_path))
    assert "unpacks to" in told


def test_a_tar_header_of_very_many_bytes_is_refused(tmp_path: Path):
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 200 * MIB
    blob = gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + bytes(200 * MIB))
    (tmp_path / "package").write_bytes(blob)
    told = refused_cheaply(lambda: extract(tmp_path / "package", [File("images", (1,))], tmp_path))
    assert "damaged archive" in told


@pytest.mark.parametrize("left", [512, 512 + 3000, 512 + 5119])
def test_a_tar_that_is_cut_short_is_refused(tmp_path: Path, left: int):
    info = tarfile.TarInfo("images")
    info.size = 5120
    (tmp_path / "package").write_bytes((info.tobuf() + bytes(5120))[:left])
    told = refused_cheaply(lambda: extract(tmp_path / "package", [File("images", (1,))], tmp_path))
    assert "unexpected end of data" in told
    assert not (tmp_path / "images").exists()


def test_an_xz_that_asks_for_much_memory_is_refused(tmp_path: Path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]
    (tmp_path / "package").write_bytes(lzma.compress(bytes(5000), filters=filters))
    told = refused_cheaply(lambda: extract(tmp_path / "package", [File("images", (1,))], tmp_path))
    assert "damaged archive" in told


def test_an_archive_of_another_sum_is_refused(web, toy, tmp_path: Path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        for name, blob in toy.gz.items():
            package.writestr(f"{name}.gz", blob)
    web.answers["/all.zip"] = out.getvalue()
    with pytest.raises(DataError, match="SHA-256 is"):
        fetch(toy.entry(Archive(f"{web.base}all.zip", "0" * 64), sums=False), tmp_path)


def test_a_verdict_says_which_files_are_verified_by_structure_only(
    toy, tmp_path: Path, monkeypatch
):
    entry = toy.entry(sums=False)
    known = [File(file.name, file.shape, gz_sha256="0" * 64) for file in entry.train]
    monkeypatch.setitem(REGISTRY, "toy", toy.entry(sums=False, train=tuple(known)))
    for name, array in toy.arrays.items():
        idx.write(tmp_path / "toy" / name, array)
    (verdict,) = verify(["toy"], tmp_path)
    assert (verdict.status, verdict.verified_by) == ("sound", "structure only, no sum is known")
    idx.write(tmp_path / "toy" / f"{known[0].name}.gz", toy.arrays[known[0].name])
    assert find(entry, known[0], tmp_path) == tmp_path / "toy" / f"{known[0].name}.gz"
    (verdict,) = verify(["toy"], tmp_path)
    assert verdict.status == "damaged"
    assert "structure only (3 files)" in verdict.verified_by


def test_a_lock_that_is_a_pipe_or_a_link_changes_nothing(web, toy, tmp_path: Path):
    toy.serve(web)
    from sffa.data.mirrors import Mirror
    from sffa.errors import DownloadError

    (tmp_path / "toy").mkdir()
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "toy" / ".lock").symlink_to(tmp_path / "precious")
    with pytest.raises(DownloadError, match="symbolic links"):
        fetch(toy.entry(Mirror(web.base)), tmp_path)
    assert (tmp_path / "precious").read_text() == "kept"
