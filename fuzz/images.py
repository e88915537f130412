"""Folders of images: damaged files of every format, links, pipes, odd names."""

from __future__ import annotations

import io
import os
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image

from fuzz.mutate import damaged
from fuzz.surface import Surface
from sffa.data import image_files, load, read_images

_FORMATS = ("png", "jpeg", "bmp", "gif", "tiff", "webp", "ppm")
_MODES = ("L", "RGB", "RGBA", "P", "1", "I;16", "CMYK", "LA")


@cache
def _encoded(kind: str, mode: str) -> bytes:
    """Return a sound image of 6x5 pixels; one in gray where the format has no such mode."""
    pixels = Image.fromarray((np.arange(30, dtype="u1") * 8).reshape(5, 6))
    out = io.BytesIO()
    try:
        pixels.convert(mode).save(out, kind)
    except (OSError, ValueError):
        out = io.BytesIO()
        pixels.save(out, kind)
    return out.getvalue()


def make(rng: Random, folder: Path) -> Path:
    """Write a folder of two classes in which one to three things are not as they should be."""
    kind, mode = rng.choice(_FORMATS), rng.choice(_MODES)
    for label in "ab":
        (folder / label).mkdir()
        for number in range(3):
            (folder / label / f"{number}.png").write_bytes(_encoded(kind, mode))
    for _ in range(rng.choice((1, 1, 2, 3))):
        path = folder / rng.choice("ab") / f"{rng.randrange(4)}.{rng.choice(('png', 'tif'))}"
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        path.unlink(missing_ok=True)
        blob = _encoded(rng.choice(_FORMATS), rng.choice(_MODES))
        rng.choice((_damage, _damage, _damage, _damage, _damage, _odd))(rng, path, blob)
    return folder


def _damage(rng: Random, path: Path, blob: bytes) -> None:
    path.write_bytes(damaged(rng, blob))


def _odd(rng: Random, path: Path, blob: bytes) -> None:
    """Put something there that is no regular file, or not where it seems."""
    kind = rng.randrange(5)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to(rng.choice(("..", ".", path.name, "gone", "/dev/zero", "../b/0.png")))
    elif kind == 3:
        (path.parent / f"loop{rng.randrange(9)}").symlink_to(rng.choice(("..", ".", "../a")))
    else:
        path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 6 5\n" + blob)


def read(folder: Path) -> None:
    """Read the folder as a dataset, and as pictures to predict from."""
    found = image_files(folder)
    try:
        load(folder)
    finally:
        read_images(found)


SURFACE = Surface(make, read)
