"""Model files without torch: safetensors with a JSON header and a checksum of everything.

See `sffa.core.storage`, which reads and writes the same files. Arrays are read one by one, so that
no second copy of a model is ever in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from math import prod
from typing import IO, Any

import numpy as np

from sffa.errors import ModelFileError
from sffa.files import PathLike, reading, replacing
from sffa.lite.formulas import Array

FORMAT = 1
_NUMBERS = {
    "F64": ("float64", "<f8"),
    "F32": ("float32", "<f4"),
    "F16": ("float16", "<f2"),
    "BF16": ("bfloat16", "<u2"),  # numpy has no such numbers: read as bits
    "I64": ("int64", "<i8"),
    "I32": ("int32", "<i4"),
    "I16": ("int16", "<i2"),
    "I8": ("int8", "i1"),
    "U8": ("uint8", "u1"),
    "BOOL": ("bool", "?"),
}
_LONGEST_HEADER = 100 << 20


def read(path: PathLike, wanted: Callable[[str], bool]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read and verify a model file: its header, and the arrays whose names are ``wanted``."""
    with reading(path, ModelFileError) as file:
        try:
            return _read(file, wanted)
        except ModelFileError as error:
            raise ModelFileError(f"{path} is damaged or not a model file: {error}") from None
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
            OverflowError,
        ) as error:
            told = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise ModelFileError(f"{path} is damaged or not a model file: {told}") from None


def _read(
    file: IO[bytes], wanted: Callable[[str], bool]
) -> tuple[dict[str, Any], dict[str, Array]]:
    size = file.seek(0, 2)
    file.seek(0)
    start = 8 + int.from_bytes(file.read(8), "little")
    if not 8 < start <= min(size, _LONGEST_HEADER):
        raise ModelFileError("its header does not fit into it")
    entries: dict[str, Any] = json.loads(file.read(start - 8))
    metadata = entries.pop("__metadata__", {})
    if "sffa" not in metadata:
        raise ModelFileError("sffa did not write it")
    header: dict[str, Any] = json.loads(metadata["sffa"])
    if int(header["format"]) > FORMAT:
        raise ModelFileError(f"it has format {header['format']}, this sffa reads up to {FORMAT}")
    total = hashlib.sha256(metadata["sffa"].encode())
    arrays = {}
    for name in sorted(entries):
        array, told = _array(file, entries[name], start, size)
        total.update(f"{name} {told}".encode())
        total.update(array.reshape(-1).view(np.uint8).data)
        if wanted(name):
            arrays[name] = array
    if metadata.get("sha256") != total.hexdigest():
        raise ModelFileError("its content is not what was written, the SHA-256 differs")
    return header, arrays


def _array(file: IO[bytes], entry: dict[str, Any], start: int, size: int) -> tuple[Array, str]:
    """Read one array; returns it and what the checksum calls its type and shape."""
    name, kind = _NUMBERS[entry["dtype"]]
    shape = tuple(entry["shape"])
    first, last = entry["data_offsets"]
    whole = all(isinstance(n, int) and n >= 0 for n in (*shape, first, last))
    length = prod(shape) * np.dtype(kind).itemsize
    if not whole or last - first != length or start + last > size:
        raise ModelFileError("an array lies outside it, or has another size than announced")
    array = np.empty(shape, kind)
    file.seek(start + first)
    if length and file.readinto(array.reshape(-1).view(np.uint8).data) != length:  # type: ignore[attr-defined]
        raise ModelFileError("it ends in the middle of an array")
    return array, f"torch.{name} {shape}"


def write(path: PathLike, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a model file, whole or not at all; numbers are kept as float32."""
    text = json.dumps({"format": FORMAT, **header}, sort_keys=True)
    total = hashlib.sha256(text.encode())
    entries: dict[str, Any] = {}
    place = 0
    for name in sorted(arrays):
        shape = arrays[name].shape
        total.update(f"{name} torch.float32 {shape}".encode())
        total.update(_bytes(arrays[name]))
        end = place + 4 * prod(shape)
        entries[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [place, end]}
        place = end
    metadata = {"sffa": text, "sha256": total.hexdigest()}
    head = json.dumps({"__metadata__": metadata, **entries}).encode()
    head += b" " * (-len(head) % 8)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in sorted(arrays):
            file.write(_bytes(arrays[name]))


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array, "<f4").reshape(-1).view(np.uint8).data
