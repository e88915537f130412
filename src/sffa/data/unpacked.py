"""A compressed stream as a plain one, of which no more is unpacked than its size allows."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from typing import IO, Any, cast

from sffa.data.limits import allowance
from sffa.errors import DataError

LARGEST_READ = 16 << 20
_XZ_MEMORY = 256 << 20


def unpacked(source: IO[bytes], stored: int, where: str) -> IO[bytes]:
    """Return what ``source`` holds, decompressed if it is gzip, bzip2 or xz by its first bytes."""
    magic = source.read(6)
    source.seek(0)
    stream: Any = source
    if magic[:2] == b"\x1f\x8b":
        stream = gzip.GzipFile(fileobj=source, mode="rb")
    elif magic[:3] == b"BZh":
        stream = bz2.BZ2File(source)
    elif magic == b"\xfd7zXZ\x00":
        # The header says how much memory the decoder takes; it is asked with a limit first.
        lzma.LZMADecompressor(memlimit=_XZ_MEMORY).decompress(source.read(4096), max_length=1)
        source.seek(0)
        stream = lzma.LZMAFile(source)  # noqa: SIM115
    return cast(IO[bytes], _Bounded(stream, allowance(stored), where))


class _Bounded(io.RawIOBase):
    """Reads and seeks like ``stream``, but neither beyond ``limit`` nor much at once."""

    def __init__(self, stream: Any, limit: int, where: str) -> None:
        self._stream, self._limit, self._where = stream, limit, where

    def read(self, size: int | None = -1) -> bytes:
        """Read ``size`` bytes; a header that asks for very many is damaged."""
        if size is None or not 0 <= size <= LARGEST_READ:
            raise DataError(f"{self._where}: damaged archive, a header of {size} bytes")
        self._check(self._stream.tell() + size)
        return cast(bytes, self._stream.read(size))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place from the start."""
        self._check(offset)
        return cast(int, self._stream.seek(offset, whence))

    def tell(self) -> int:
        """Return the place."""
        return cast(int, self._stream.tell())

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether one can go to a place in it: yes."""
        return True

    def _check(self, place: int) -> None:
        if place > self._limit + LARGEST_READ:
            raise DataError(
                f"{self._where}: unpacks to more than the limit of {self._limit:,} bytes"
            )
