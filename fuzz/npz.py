"""Arrays of .npz and .npy files: headers, archives, announced sizes."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fuzz.mutate import LARGE, TELLING, damaged
from fuzz.surface import Surface
from sffa.data import load
from sffa.data.npy import read_arrays

_TYPES = (
    "<f8",
    ">f4",
    "<i8",
    "|u1",
    "|b1",
    "<U3",
    "|S4",
    "<c16",
    "<M8[s]",
    "|O",
    "|V8",
    "<f2",
    "U0",
)
_NAMES = ("x", "y", "x_train", "y_train", "x_test", "y_test", "class_names", "z")


def make(rng: Random, folder: Path) -> Path:
    """Write an .npz file, or now and then an .npy file, damaged at one of its levels."""
    if rng.random() < 0.15:
        path = folder / "x.npy"
        path.write_bytes(_npy(rng, 6))
        return path
    rows, out = rng.randrange(0, 12), io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED))
    if rng.random() < 0.05:
        method = rng.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(out, "w", method) as archive:
        for name in ("x", "y", *rng.sample(_NAMES, rng.randrange(3))):
            if f"{name}.npy" not in archive.namelist():
                sound = rng.random() < 0.6
                archive.writestr(
                    f"{name}.npy", _sound(rng, name, rows) if sound else _npy(rng, rows)
                )
    blob = out.getvalue()
    path = folder / "mine.npz"
    path.write_bytes(_directory(rng, blob) if rng.random() < 0.4 else blob)
    return path


def _sound(rng: Random, name: str, rows: int) -> bytes:
    out = io.BytesIO()
    values: Any = (
        np.arange(rows) % 2 if name.startswith("y") else np.arange(rows * 3).reshape(rows, 3)
    )
    np.save(out, values)
    return out.getvalue()


def _npy(rng: Random, rows: int) -> bytes:
    """Return an .npy file with a header of its own, or a damaged one."""
    if rng.random() < 0.4:
        return damaged(rng, _sound(rng, rng.choice("xy"), rows))
    sizes = (rows, 1, 3, -1, *rng.sample(TELLING + LARGE, 2))
    shape = tuple(rng.choice(sizes) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 40))))
    descr: Any = rng.choice((*_TYPES, [("a", "<f8")], ("<f8", (2,)), "nonsense", 3, None))
    order = rng.choice((True, False, 1))
    text = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape!r}, }}"
    text = rng.choice((text, text, text, "(" * 300, "{", "'\\q'", "1e999", text * 9)) + "\n"
    version = rng.choice((1, 1, 1, 2, 3, 9))
    length = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes((version, 0)) + length + text.encode() + rng.randbytes(rows * 24)


def _directory(rng: Random, blob: bytes) -> bytes:
    """Damage the archive, in half of the cases in its directory at the end."""
    at = blob.rfind(b"PK\x01\x02")
    if rng.random() < 0.5 and at > 0:
        return blob[:at] + damaged(rng, blob[at:])
    return damaged(rng, blob)


def read(path: Path) -> None:
    """Read the file as a dataset, or as arrays to predict from."""
    if path.suffix == ".npz":
        load(path)
    else:
        for array in read_arrays(path).values():
            array.sum() if array.dtype.kind in "buif" else array.copy()


SURFACE = Surface(make, read)
