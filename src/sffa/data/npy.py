"""Arrays of numpy's formats .npy and .npz: headers first, sizes checked, nothing unpickled."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from typing import IO, NamedTuple

import numpy as np

from sffa.data.dataset import Array
from sffa.data.limits import check_size, check_zip_member
from sffa.errors import DataError, SFFAError
from sffa.files import PathLike, reading

_NPY_MAGIC = b"\x93NUMPY"
_MOST_DIMENSIONS = 32
_CHUNK = 1 << 24


class Header(NamedTuple):
    """What an .npy file says of its array; ``start`` is where the values begin."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[np.generic]
    start: int

    @property
    def size(self) -> int:
        """Bytes of the values."""
        return prod(self.shape) * self.dtype.itemsize


def read_arrays(path: PathLike, wanted: Callable[[str], bool] = bool) -> dict[str, Array]:
    """Read an .npz file as `read_npz` does, or an .npy file as the one array ``""``."""
    with reading(path) as file:
        bare = file.read(len(_NPY_MAGIC)) == _NPY_MAGIC
    return {"": read_npy(path)} if bare else read_npz(path, wanted)


def read_npz(path: PathLike, wanted: Callable[[str], bool] = bool) -> dict[str, Array]:
    """Read the arrays of an .npz file whose names are ``wanted``; other members stay unread."""
    with _archive(path) as (archive, stored):
        chosen = {name: info for name, info in _infos(archive, path).items() if wanted(name)}
        check_size(sum(info.file_size for info in chosen.values()), stored, path)
        return {name: _member(archive, info, path) for name, info in chosen.items()}


def names(path: PathLike) -> list[str]:
    """Return the names of the arrays in an .npz file, sorted, and read none of them."""
    with _archive(path) as (archive, _):
        return sorted(_infos(archive, path))


def read_npy(path: PathLike) -> Array:
    """Map the array of an .npy file into memory, read as it is used and copied when written to."""
    with reading(path) as file:
        header = read_header(file, path)
        _exact(header, _length(file) - header.start, path)
        if header.size == 0:
            return np.empty(header.shape, header.dtype)
        order = "F" if header.fortran else "C"
        return np.memmap(file, header.dtype, "c", header.start, header.shape, order)  # type: ignore[call-overload, no-any-return]


def read_header(file: IO[bytes], where: object) -> Header:
    """Read the header of an .npy file; one of objects, records or impossible shape is refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
            elif version == (2, 0):
                shape, fortran, dtype = np.lib.format.read_array_header_2_0(file)
            else:
                raise DataError(f"{where}: not a plain array (.npy version {version})")
    except (SFFAError, MemoryError):
        raise
    except Exception as error:  # the header is Python text, and fails in as many ways
        raise DataError(f"{where}: not a sound .npy header ({_line(error)})") from None
    if dtype.hasobject:
        raise DataError(f"{where}: not plain arrays, it holds pickled objects, which are not read")
    if dtype.kind not in "buifcUSmM" or dtype.itemsize == 0:
        raise DataError(f"{where}: not plain numbers or text, but {_short(dtype)}")
    if len(shape) > _MOST_DIMENSIONS or any(n < 0 for n in shape):
        raise DataError(f"{where}: an array of the impossible shape {_short(shape)}")
    return Header(shape, fortran, dtype, file.tell())


@contextmanager
def _archive(path: PathLike) -> Iterator[tuple[zipfile.ZipFile, int]]:
    """Open an .npz file; yields it and its size. What a damaged one raises is one DataError."""
    with reading(path) as file:
        stored = _length(file)
        magic = file.read(len(_NPY_MAGIC))
        if magic == _NPY_MAGIC:
            raise DataError(f"{path}: one bare array; expected an .npz file")
        file.seek(0)
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive, stored
        except (SFFAError, MemoryError):
            raise
        except Exception as error:  # zipfile and the decompressors raise some twelve kinds
            raise DataError(
                f"{path}: not a sound .npz file of plain arrays ({_line(error)})"
            ) from None


def _infos(archive: zipfile.ZipFile, path: PathLike) -> dict[str, zipfile.ZipInfo]:
    """Return the members by the names of their arrays."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name in found:
            raise DataError(f"{path}: two members are called {_short(name)}")
        found[name] = info
    return found


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: PathLike) -> Array:
    where = f"{path}: {_short(info.filename)}"
    check_zip_member(info, path)
    with archive.open(info) as stream:
        return _read(stream, info.file_size, where)


def _read(stream: IO[bytes], size: int, where: str) -> Array:
    """Read one array from a stream that announces ``size`` bytes, header included."""
    header = read_header(stream, where)
    _exact(header, size - header.start, where)
    values = np.empty(header.size, np.uint8)
    filled, view = 0, values.data
    while filled < header.size:
        part = stream.read(min(_CHUNK, header.size - filled))
        if not part:
            raise DataError(f"{where}: truncated after {filled:,} of {header.size:,} bytes")
        view[filled : filled + len(part)] = part
        filled += len(part)
    stream.read(1)  # to the end, where the archive's checksum is compared; it gives no more bytes
    shape = header.shape[::-1] if header.fortran else header.shape
    array = values.view(header.dtype).reshape(shape)
    return array.T if header.fortran else array


def _exact(header: Header, found: int, where: object) -> None:
    if found != header.size:
        what = "truncated" if found < header.size else "trailing bytes"
        raise DataError(
            f"{where}: {what}, the header announces {header.size:,} bytes of values "
            f"{header.shape}, found {max(found, 0):,}"
        )


def _length(file: IO[bytes]) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    return size


def _line(error: Exception) -> str:
    return _short(" ".join(str(error).split()) or type(error).__name__)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
