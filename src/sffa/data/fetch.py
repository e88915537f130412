"""Bring a dataset into the directory: sources in order, nothing unverified under its name."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sffa.data.directory import VARIABLE, missing
from sffa.data.entry import Entry, File, Source
from sffa.data.progress import metered
from sffa.data.stored import read_file
from sffa.data.verify import read_verified
from sffa.errors import DataError, DownloadError, SFFAError
from sffa.files import replacing

LOCK_SECONDS = 1800.0

_PREFIX = ".fetch-"


@dataclass(frozen=True)
class Fetched:
    """What ``fetch`` did: the source that delivered, in how long, and which failed before it."""

    name: str
    folder: Path
    source: str
    seconds: float
    failures: tuple[str, ...] = ()


def fetch(
    entry: Entry, directory: Path, *, force: bool = False, progress: bool | None = None
) -> Fetched:
    """Make sure that every file of ``entry`` is in ``directory`` and sound.

    Present files are verified and kept; a damaged one is an error, unless ``force``, which
    replaces every file. ``progress=None`` draws a bar when standard error is a terminal.
    """
    began = time.monotonic()
    folder = directory / entry.name
    if entry.format == "embedded":
        return Fetched(entry.name, folder, "scikit-learn", 0.0)
    if not force and not missing(entry, directory):
        _check_present(entry, directory)
        return Fetched(entry.name, folder, "already there", time.monotonic() - began)
    if not entry.sources:
        raise DownloadError(
            f"{entry.name} is published nowhere: put its files into {folder}, "
            f"or set {VARIABLE} to the directory that has {entry.name}/"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder) as alone:
            if alone:
                _sweep(folder)
            if not force:
                _check_present(entry, directory)
            wanted = list(entry.files) if force else missing(entry, directory)
            source, failures = _first_that_delivers(entry, wanted, directory, progress)
    except SFFAError:
        raise
    except OSError as error:
        raise DownloadError(f"{folder}: {error.strerror or error}") from None
    return Fetched(entry.name, folder, source, time.monotonic() - began, failures)


def _check_present(entry: Entry, directory: Path) -> None:
    """Raise if a file of ``entry`` that is there is not sound."""
    for file in entry.files:
        read_file(entry, file, directory)


def _first_that_delivers(
    entry: Entry, wanted: Sequence[File], directory: Path, progress: bool | None
) -> tuple[str, tuple[str, ...]]:
    """Try the sources in order; return the one that delivered, and why the others did not."""
    if not wanted:
        return "another process", ()
    failures: list[str] = []
    damaged = False
    for source in entry.sources:
        try:
            _take(entry, source, wanted, directory, progress)
        except (DownloadError, DataError) as error:
            told = str(error)
            failures.append(told if source.label in told else f"{source.label}: {told}")
            damaged = damaged or isinstance(error, DataError)
        else:
            return source.label, tuple(failures)
    kind = DataError if damaged else DownloadError
    raise kind(f"no source could deliver {entry.name} ({' | '.join(failures)})")


def _take(
    entry: Entry, source: Source, wanted: Sequence[File], directory: Path, progress: bool | None
) -> None:
    """Let ``source`` deliver beside the place, verify everything, then move it in."""
    folder = directory / entry.name
    workplace = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    try:
        with metered(f"{entry.name} from {source.label}", progress) as meter:
            source.deliver(wanted, workplace, meter)
        delivered: list[tuple[File, Path]] = []
        for file in wanted:
            zipped, raw = workplace / f"{file.name}.gz", workplace / file.name
            path = zipped if zipped.is_file() else raw
            read_verified(entry, file, path)
            delivered.append((file, path))
        for file, path in delivered:
            with replacing(folder / path.name) as temporary:
                os.replace(path, temporary)
            other = file.name if path.name.endswith(".gz") else f"{file.name}.gz"
            (folder / other).unlink(missing_ok=True)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold the folder's lock; yields False where locks do not work or take too long.

    The kernel lets go of a lock when its holder dies, so a left-over lock file means nothing.
    Without the lock two fetches may do the work twice, but each renames whole files.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    # Neither follows a link nor waits for a pipe that stands there, and changes no file.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(folder / ".lock", flags, 0o666), "rb+", buffering=0) as lock:
        held, deadline = False, time.monotonic() + LOCK_SECONDS
        while not held and time.monotonic() < deadline:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = True
            except BlockingIOError:
                time.sleep(0.1)
            except OSError:
                break
        yield held


def _sweep(folder: Path) -> None:
    """Remove what a killed fetch left behind; only for the holder of the lock."""
    for left in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)
