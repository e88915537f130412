"""Whole files only: what is written appears under its name complete, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import socket
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sffa.errors import DataError, OutputError, SFFAError

PathLike = str | os.PathLike[str]

STALE_SECONDS = 600.0
"""A temporary file that another machine made is taken for left behind after this time."""
_FORGOTTEN_SECONDS = 86_400.0
"""One whose process number is still in use here, perhaps by another process, after this one."""
_LONGEST_NAME = 200

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


@contextlib.contextmanager
def replacing(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it is synced and renamed over ``path``.

    A reader finds the old file or the new one. If the block raises, the old one stays. Only
    nothing or a regular file is replaced; a symbolic link stays, and the file it leads to is
    written. Temporary files that killed writers of the same file left behind are removed.
    """
    target, temporary = _begun(path)
    made = stat.S_IMODE(os.stat(temporary).st_mode)
    try:
        yield temporary
        with open(temporary, "rb+") as stream:
            os.fsync(stream.fileno())
        mode = _mode(target)
        os.chmod(temporary, made if mode is None else mode)
        os.replace(temporary, destination(target))
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: PathLike) -> None:
    """Refuse now what `replacing` would refuse later, perhaps after hours; nothing stays there."""
    missing = [folder for folder in destination(path).parents if not os.path.lexists(folder)]
    _begun(path)[1].unlink()
    for folder in missing:
        with contextlib.suppress(OSError):  # somebody else has put something there
            folder.rmdir()


def _begun(path: PathLike) -> tuple[Path, Path]:
    """Return the file that writing to ``path`` writes, and a new, empty one beside it."""
    target = destination(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(target)
        temporary = target.parent / _temporary_name(target)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from error
    return target, temporary


def write_text(path: PathLike, text: str) -> None:
    """Write ``text`` as UTF-8, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: PathLike, content: bytes) -> None:
    """Write ``content``, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def destination(path: PathLike) -> Path:
    """Return the path that writing to ``path`` writes: symbolic links are followed to their end.

    Anything there but a regular file is an ``OutputError``: a directory, a named pipe, a device,
    a loop of links.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{path}: cannot be written ({reason})") from None
    if not stat.S_ISREG(mode):
        raise OutputError(
            f"{path}: is {kind_of(mode)}; only a regular file is replaced, choose another path"
        )
    return Path(os.path.realpath(path) if os.path.islink(path) else path)


@contextlib.contextmanager
def reading(path: PathLike, error: type[SFFAError] = DataError) -> Iterator[BinaryIO]:
    """Open a regular file to read bytes; whatever else stands there is an ``error``, at once.

    A named pipe is refused and not waited for. Reading more than the file holds allocates no
    more than it holds.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or trouble
        raise error(f"{path}: cannot be read ({reason})") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise error(f"{path}: cannot be read (is {kind_of(mode)}; expected a regular file)")
    with _Clipped(io.FileIO(handle)) as file:
        yield file


def read_text(path: PathLike, error: type[SFFAError] = DataError) -> str:
    """Return the text of a regular file; what is no UTF-8, or no such file, is an ``error``."""
    with reading(path, error) as file:
        try:
            return file.read().decode()
        except UnicodeDecodeError as trouble:
            raise error(f"cannot read {path}: {trouble}") from None


class _Clipped(io.BufferedReader):
    """A file of which no more is asked than it holds: asking allocates, whatever then comes."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


def kind_of(mode: int) -> str:
    """Return what a file of this ``st_mode`` is, in words.

    >>> kind_of(stat.S_IFIFO)
    'a named pipe'
    """
    return next((words for holds, words in _KINDS if holds(mode)), "no regular file")


def checksum(*arrays: Any) -> int:
    """Return a CRC-32 of all bytes of all arrays, which tells them from others of their shape."""
    total = 0
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, total)
    return total


def _mode(target: Path) -> int | None:
    """Return the permissions of the file at ``target``, or None if there is none."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except OSError:
        return None


def _temporary_name(target: Path) -> str:
    """Return a name no other writer uses, which says on which machine and in which process."""
    return f"{_stem(target)}{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"


def _stem(target: Path) -> str:
    """Return how the names of temporary files for ``target`` begin; a long name is cut short."""
    name = os.fsencode(target.name)
    if len(name) > _LONGEST_NAME:
        name = name[: _LONGEST_NAME - 17] + b"~" + hashlib.sha256(name).hexdigest()[:16].encode()
    return f".{os.fsdecode(name)}."


def _machine() -> str:
    """Return eight letters for this machine, which tell it from others on a shared disk."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _remove_left_behind(target: Path) -> None:
    """Remove temporary files for ``target`` whose writers are gone, as far as can be known."""
    stem = _stem(target)
    with os.scandir(target.parent) as listing:
        left = [
            entry
            for entry in listing
            if entry.name.startswith(stem)
            and entry.name.endswith(".tmp")
            and "." not in entry.name[len(stem) : -len(".tmp")]
        ]
    for entry in left:
        with contextlib.suppress(OSError):
            age = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if age > _patience(entry.name[len(stem) : -len(".tmp")]):
                os.unlink(entry.path)


def _patience(middle: str) -> float:
    """Return the age in seconds from which a temporary file counts as left behind."""
    machine, _, rest = middle.partition("-")
    number = rest.partition("-")[0]
    if machine != _machine() or not number.isdecimal():
        return STALE_SECONDS
    try:
        import psutil
    except ImportError:  # sffa.lite runs without it
        return STALE_SECONDS
    return _FORGOTTEN_SECONDS if psutil.pid_exists(int(number)) else -np.inf
