"""Every call that changes a file fails once: open, write, sync, permissions, rename.

Whatever fails, what was there is there whole or the new content is, what is said is one
``SFFAError`` or ``OSError``, and no temporary file stays. Python's calls are replaced in Python.
Those of SQLite and safetensors are met with `failing_calls.c`, which is compiled and loaded before
everything else, where there is a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from sffa.errors import SFFAError

KINDS = ("ENOSPC", "EIO", "short")


class Unavailable(Exception):
    """No C compiler is here, or what it made is not loaded."""


class NativeFaults:
    """The same for calls in any language; see `failing_calls.c`."""

    def __init__(self, at: int = -1, kind: str = "EIO") -> None:
        self._library = ctypes.CDLL(None)
        self._armed = at, errno.EIO if kind == "EIO" else errno.ENOSPC
        self.calls = 0

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let one call fail while the block lasts."""
        self._library.fail_call(*self._armed)
        try:
            yield
        finally:
            self.calls = self._library.counted_calls()
            self._library.fail_call(-2, 0)


class Faults:
    """Counts the calls that can fail, and lets one of them fail; -1 lets all pass."""

    def __init__(self, at: int = -1, kind: str = "EIO") -> None:
        self.at, self.kind, self.calls = at, kind, 0

    def due(self) -> bool:
        """Count a call; whether it is the one to fail."""
        self.calls += 1
        return self.calls - 1 == self.at

    def error(self) -> OSError:
        """Return what the call raises."""
        number = errno.EIO if self.kind == "EIO" else errno.ENOSPC
        return OSError(number, os.strerror(number))

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let the functions through which Python changes files fail while the block lasts."""
        names = ("fsync", "replace", "rename", "chmod", "open")
        patches = [mock.patch.object(os, name, self._failing(getattr(os, name))) for name in names]
        patches.append(mock.patch.object(Path, "write_bytes", self._writing()))
        patches.append(mock.patch.object(Path, "write_text", self._writing()))
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if self.due():
                raise self.error()
            return real(*arguments, **options)

        return call

    def _writing(self) -> Callable[..., Any]:
        def call(path: Path, content: str | bytes, encoding: str | None = None, **_: Any) -> int:
            blob = content.encode(encoding or "utf-8") if isinstance(content, str) else content
            due = self.due()
            with open(path, "wb") as stream:
                stream.write(blob[: len(blob) // 2] if due else blob)
            if due:
                raise self.error()
            return len(content)

        return call


def _text(path: Path, version: int) -> None:
    from sffa.files import write_text

    write_text(path, f"version {version} " * 1000)


def _model(path: Path, version: int) -> None:
    from sffa import Network

    Network(4, hidden=(40,), k=5, classes=range(2), seed=version, backend="torch").save(path)


def _csv(path: Path, version: int) -> None:
    from fuzz.csv_file import sound
    from sffa.study import export_csv

    export_csv(path, sound()[: version + 1])


def _page(path: Path, version: int) -> None:
    from sffa.report import write

    write(path, [], title=f"version {version}", theory=False)


def _store(path: Path, version: int) -> None:
    from fuzz.csv_file import sound
    from sffa.study import Store

    if version == 0:
        path.unlink(missing_ok=True)
    with Store(path) as store:
        store.add(sound()[version : version + 1 + version])


def _stored(path: Path) -> object:
    """Return the records of a store, which must be trusted; closing it tidies its log away."""
    from sffa.study import Store

    with Store(path) as store:
        assert store.notice is None, store.notice
        return [record.outcome() for record in store.records()]


@dataclass(frozen=True)
class Operation:
    """How version 0 or 1 of a file is written, how it is read, and by whom calls are made."""

    write: Callable[[Path, int], None]
    read: Callable[[Path], object] = Path.read_bytes
    faults: type[Faults] | type[NativeFaults] = Faults


OPERATIONS = {
    "text": Operation(_text),
    "model": Operation(_model),
    "csv": Operation(_csv),
    "page": Operation(_page),
    "store, natively": Operation(_store, _stored, NativeFaults),
    "csv, natively": Operation(_csv, faults=NativeFaults),
    "model, natively": Operation(_model, faults=NativeFaults),
}


def try_out(name: str) -> tuple[int, list[str]]:
    """Let every call of an operation fail in every way; return how many did, and findings."""
    operation, findings, tried = OPERATIONS[name], [], 0
    if operation.faults is NativeFaults and not hasattr(ctypes.CDLL(None), "fail_call"):
        raise Unavailable("failing_calls.c is not loaded")
    kinds = KINDS if operation.faults is Faults else KINDS[:2]
    with tempfile.TemporaryDirectory() as base:
        count = _count(operation, Path(base) / "first")
        for kind in kinds:
            for at in range(count):
                tried += 1
                folder = Path(base) / f"{kind}-{at}"
                found = _once(operation, folder, operation.faults(at, kind))
                findings += [f"{name}, call {at} fails with {kind}: {what}" for what in found]
    return tried, findings


def _count(operation: Operation, folder: Path) -> int:
    folder.mkdir()
    operation.write(folder / "file", 0)
    faults = operation.faults()
    with faults.planted():
        operation.write(folder / "file", 1)
    return faults.calls


def _once(operation: Operation, folder: Path, faults: Faults | NativeFaults) -> list[str]:
    folder.mkdir()
    path = folder / "file"
    operation.write(path, 0)
    operation.write(path, 1)
    new = operation.read(path)
    operation.write(path, 0)
    old, said = operation.read(path), "nothing"
    try:
        with faults.planted():
            operation.write(path, 1)
    except (SFFAError, OSError) as error:
        said = str(error)
    except BaseException as error:
        return [f"raised {type(error).__name__}: {error}"]
    found, now = [], operation.read(path)
    if now not in (old, new):
        found.append("the file is neither the old one nor the new one")
    if said == "nothing" and now != new:
        found.append("nothing was said, and the old file is still there")
    if "\n" in said:
        found.append(f"more than a line was said: {said[:100]!r}")
    left = [entry.name for entry in folder.iterdir() if entry != path]
    if left:
        found.append(f"{left[0]} was left behind")
    return found


def with_native(command: list[str]) -> None:
    """Become ``command`` with `failing_calls.c` loaded, if there is a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or "LD_PRELOAD" in os.environ:
        return
    with tempfile.TemporaryDirectory() as folder:
        library, source = Path(folder) / "failing.so", Path(__file__).with_name("failing_calls.c")
        built = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(built, check=True)
        with library.open("rb") as kept:  # a path without the spaces that a folder may have
            place = f"/proc/{os.getpid()}/fd/{kept.fileno()}"
            loaded = subprocess.run(command, env=os.environ | {"LD_PRELOAD": place})
    sys.exit(loaded.returncode)


def main() -> int:
    """Try all operations, print a table, exit 1 on findings."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__)
    parser.add_argument("--operation", action="append", choices=list(OPERATIONS))
    told = parser.parse_args()
    with_native([sys.executable, "-m", "fuzz.faults", *sys.argv[1:]])
    bad = 0
    print("| operation | faults | findings |\n| --- | ---: | ---: |")
    for name in told.operation or OPERATIONS:
        try:
            tried, findings = try_out(name)
        except Unavailable as reason:
            print(f"| {name} | – | {reason} |", flush=True)
            continue
        print(f"| {name} | {tried} | {len(findings)} |", flush=True)
        for what in findings[:10]:
            print(f"  {what}")
        bad += len(findings)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
