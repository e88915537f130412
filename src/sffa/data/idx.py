"""The IDX format of MNIST and its relatives: typed arrays, big-endian, gzipped or raw.

Layout: two zero bytes, one byte for the type, one for the number of dimensions, the dimensions
as unsigned 32-bit numbers, then the values.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import numpy as np

from sffa.data.dataset import Array
from sffa.data.limits import VARIABLE, allowance
from sffa.errors import DataError
from sffa.files import PathLike, reading, write_bytes

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

_GZ_MAGIC = b"\x1f\x8b"
_SMALLEST, _LARGEST = 1 << 14, 1 << 22


def is_gz(blob: bytes) -> bool:
    """Whether ``blob`` starts as gzip does, whatever its file is called."""
    return blob[:2] == _GZ_MAGIC


def inflate(blob: bytes, where: str, *, limit: int | None = None) -> bytes:
    """Return the content of ``blob``, decompressed if it is gzip, and never more than ``limit``.

    Without a limit it is what a file of that size may unpack to.
    """
    if not is_gz(blob):
        return blob
    limit = allowance(len(blob)) if limit is None else limit
    parts: list[bytes] = []
    size = start = 0
    while start < len(blob):
        if not is_gz(blob[start : start + 2]):
            rest = len(blob) - start
            if blob.count(0, start) != rest:
                raise DataError(f"{where}: {rest} bytes that are not gzip follow the gz data")
            break
        # Pieces grow within a member: of a short one little is fed, and copied, in vain.
        stream, piece = zlib.decompressobj(wbits=31), _SMALLEST
        while not stream.eof and start < len(blob):
            fed = blob[start : start + piece]
            piece = min(2 * piece, _LARGEST)
            try:
                part = stream.decompress(fed, limit - size + 1)
            except zlib.error as error:
                raise DataError(f"{where}: damaged gz data ({error})") from None
            start += len(fed) - len(stream.unused_data)
            size += len(part)
            if size > limit:
                raise DataError(
                    f"{where}: decompresses to more than the limit of {limit:,} bytes; "
                    f"if you trust it, set {VARIABLE} to a larger number of bytes"
                )
            parts.append(part)
        if not stream.eof:
            raise DataError(f"{where}: truncated gz data, ends after {size:,} decompressed bytes")
    return b"".join(parts)


def decode(content: bytes, where: str = "IDX data") -> Array:
    """Turn decompressed IDX ``content`` into an array of 1 to 4 dimensions, native byte order.

    >>> decode(encode(np.array([3, 1, 2], np.int16))).tolist()
    [3, 1, 2]
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in TYPES:
        raise DataError(
            f"{where}: not an IDX file, it starts with {content[:4].hex() or 'nothing'}"
        )
    dimensions = content[3]
    if not 1 <= dimensions <= 4:
        raise DataError(f"{where}: an IDX array of {dimensions} dimensions; expected 1 to 4")
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise DataError(f"{where}: truncated, the IDX header needs {start} bytes")
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", dimensions, 4))
    stored = np.dtype(TYPES[content[2]])
    expected = stored.itemsize
    for n in shape:
        expected *= n
    found = len(content) - start
    if found != expected:
        what = "truncated" if found < expected else "trailing bytes"
        raise DataError(
            f"{where}: {what}, the header announces {expected:,} bytes of values {shape}, "
            f"found {found:,}"
        )
    values = np.frombuffer(content, stored, offset=start).astype(stored.newbyteorder("="))
    try:
        return values.reshape(shape)
    except ValueError:  # no values, and other dimensions too large for numpy
        raise DataError(f"{where}: an IDX array of the impossible shape {shape}") from None


def encode(array: Array) -> bytes:
    """Turn an array of 1 to 4 dimensions and a type of the format into IDX content.

    >>> encode(np.array([7, 8], np.uint8)).hex(" ")
    '00 00 08 01 00 00 00 02 07 08'
    """
    stored = array.dtype.newbyteorder(">")
    codes = [code for code, name in TYPES.items() if np.dtype(name) == stored]
    if not codes or not 1 <= array.ndim <= 4:
        raise DataError(
            f"IDX cannot hold a {array.ndim}-dimensional array of {array.dtype}; "
            "expected 1 to 4 dimensions of uint8, int8, int16, int32, float32 or float64"
        )
    header = bytes((0, 0, codes[0], array.ndim)) + np.array(array.shape, ">u4").tobytes()
    return header + array.astype(stored).tobytes()


def read(path: PathLike, *, limit: int | None = None) -> Array:
    """Read an IDX file, gzipped or raw as its first bytes say."""
    return decode(inflate(read_bytes(path, limit=limit), str(path), limit=limit), str(path))


def write(path: PathLike, array: Array) -> None:
    """Write an IDX file, whole or not at all; gzipped when the name ends in ``.gz``."""
    content = encode(array)
    if Path(path).suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_bytes(path, content)


def read_bytes(path: PathLike, *, limit: int | None = None) -> bytes:
    """Read a regular file that must not exceed ``limit``, 4 GiB unless told."""
    with reading(path) as file:
        size = os.fstat(file.fileno()).st_size
        most = allowance(size) if limit is None else limit
        if size > most:
            raise DataError(f"{path}: {size:,} bytes, more than the limit of {most:,}")
        try:
            return file.read(size)
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
