"""``python -m fuzz.faults``: every write, sync and rename of an operation fails once.

Whatever fails, the old file is there whole or the new one is, what is said is one ``SFFAError`` or
``OSError``, and no temporary file stays. Writes that libraries make in other languages than Python,
such as those of SQLite and safetensors, do not pass here: kills and full disks test these.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from sffa.errors import SFFAError

KINDS = ("ENOSPC", "EIO", "short")


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


OPERATIONS: dict[str, Callable[[Path, int], None]] = {
    "text": _text,
    "model": _model,
    "csv": _csv,
    "page": _page,
}


def try_out(name: str) -> tuple[int, list[str]]:
    """Let every call of an operation fail in every way; return how many did, and findings."""
    operation, findings, tried = OPERATIONS[name], [], 0
    with tempfile.TemporaryDirectory() as base:
        count = _count(operation, Path(base) / "first")
        for kind in KINDS:
            for at in range(count):
                tried += 1
                folder = Path(base) / f"{kind}-{at}"
                found = _once(operation, folder, Faults(at, kind))
                findings += [f"{name}, call {at} fails with {kind}: {what}" for what in found]
    return tried, findings


def _count(operation: Callable[[Path, int], None], folder: Path) -> int:
    folder.mkdir()
    operation(folder / "file", 0)
    faults = Faults()
    with faults.planted():
        operation(folder / "file", 1)
    return faults.calls


def _once(operation: Callable[[Path, int], None], folder: Path, faults: Faults) -> list[str]:
    folder.mkdir()
    path = folder / "file"
    operation(path, 1)
    new = path.read_bytes()
    operation(path, 0)
    old, said = path.read_bytes(), "nothing"
    try:
        with faults.planted():
            operation(path, 1)
    except (SFFAError, OSError) as error:
        said = str(error)
    except BaseException as error:
        return [f"raised {type(error).__name__}: {error}"]
    found = []
    if path.read_bytes() not in (old, new):
        found.append("the file is neither the old one nor the new one")
    if said == "nothing" and path.read_bytes() != new:
        found.append("nothing was said, and the old file is still there")
    left = [entry.name for entry in folder.iterdir() if entry != path]
    if left:
        found.append(f"{left[0]} was left behind")
    return found


def main() -> int:
    """Try all operations, print a table, exit 1 on findings."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__)
    parser.add_argument("--operation", action="append", choices=list(OPERATIONS))
    told = parser.parse_args()
    bad = 0
    print(f"{'operation':<12}{'faults':>8}{'findings':>10}")
    for name in told.operation or OPERATIONS:
        tried, findings = try_out(name)
        print(f"{name:<12}{tried:>8}{len(findings):>10}", flush=True)
        for what in findings[:10]:
            print(f"  {what}")
        bad += len(findings)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
