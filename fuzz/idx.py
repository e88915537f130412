"""IDX files, gzipped and raw, alone and as folders of pairs."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import LARGE, TELLING, damaged
from fuzz.surface import Surface
from sffa.data import idx, load

_KINDS = ("u1", "i1", "i2", "i4", "f4", "f8")


def make(rng: Random, folder: Path) -> Path:
    """Write a pair of IDX files, at least one of them damaged or with another header."""
    n = rng.randrange(0, 12)
    shape = (n, *(rng.randrange(1, 5) for _ in range(rng.choice((1, 2, 2, 3)))))
    images = np.frombuffer(rng.randbytes(8 * int(np.prod(shape))), "u1")
    dtype = np.dtype(rng.choice(_KINDS))
    pixels = idx.encode(images[: int(np.prod(shape))].reshape(shape).astype(dtype))
    labels = idx.encode((np.arange(n) % 3).astype("u1"))
    for name, blob in (("train-images-idx3-ubyte", pixels), ("train-labels-idx1-ubyte", labels)):
        if rng.random() < 0.2:
            blob = _header(rng, blob)
        elif rng.random() < 0.3:
            blob = damaged(rng, blob)
        if rng.random() < 0.5:
            blob = gzip.compress(blob, mtime=0) * rng.choice((1, 1, 1, 1, 1, 2))
            blob = damaged(rng, blob) if rng.random() < 0.4 else blob
            name += ".gz"
        (folder / name).write_bytes(blob)
    return folder


def _header(rng: Random, blob: bytes) -> bytes:
    """Write telling numbers over the type and the dimensions."""
    dimensions = rng.choice((0, 1, 2, 3, 4, 4, 5, 255))
    sizes = [rng.choice(TELLING + LARGE) % 2**32 for _ in range(min(dimensions, 5))]
    head = bytes((0, 0, rng.choice((8, 9, 11, 12, 13, 14, 7)), dimensions))
    return head + b"".join(size.to_bytes(4, "big") for size in sizes) + blob[rng.randrange(20) :]


SURFACE = Surface(make, load)
