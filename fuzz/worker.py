"""A process that tries cases one after another under limits, and prints what came of each.

A line ``start N`` goes before each case, so that the driver knows which one ended the process.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

SECONDS = 10
BYTES = 1 << 30

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod"}
_RUNS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect"}


class OvertimeError(BaseException):
    """A case took too long; no handler of ours may swallow it."""


class Watch:
    """Notes every file that is changed outside a folder, and every program that is run."""

    def __init__(self) -> None:
        self.folder = ""
        self.touched: list[str] = []
        sys.addaudithook(self._heed)

    def _heed(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.folder:
            return
        if event in _RUNS:
            self.touched.append(f"{event} {arguments[:2]}")
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES:
            self._check(event, arguments[0])
        elif event in _CHANGES or event in ("os.truncate", "os.chown"):
            folder = arguments[-1] if event in ("os.remove", "os.rmdir") else -1
            for path in arguments[:2]:
                self._check(event, path, folder)

    def _check(self, event: str, path: Any, folder: int = -1) -> None:
        if isinstance(path, str | bytes | os.PathLike):
            place = os.fsdecode(path)
            if folder >= 0:
                place = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), place)
            real = os.path.realpath(place)
            inside = f"{real}{os.sep}".startswith(self.folder)
            compiled = not {"__pycache__", "numba"}.isdisjoint(real.split(os.sep))  # caches
            if not inside and not compiled and real != os.devnull:
                self.touched.append(f"{event} {real}")


def run(name: str, seed: int, numbers: range) -> None:
    """Try the cases ``numbers`` of a surface, one line of JSON for each."""
    from fuzz.surface import generator, surface
    from sffa.errors import SFFAError

    chosen = surface(name)
    watch = Watch()
    signal.signal(signal.SIGALRM, _overtime)
    base = Path(os.path.realpath(tempfile.mkdtemp(prefix="fuzz-", dir=in_memory())))
    warm_up(chosen, name, seed, base)
    limit_memory()
    try:
        for number in numbers:
            print(f"start {number}", flush=True)
            folder = base / str(number)
            folder.mkdir()
            case = chosen.make(generator(name, seed, number), folder)
            outcome, what = "accepted", ""
            watch.folder, watch.touched = f"{folder}{os.sep}", []
            try:
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    chosen.read(case)
            except SFFAError as error:
                outcome, what = "refused", str(error)
                if "\n" in what or len(what) > 2000:
                    outcome, what = "finding", f"not one short line: {what[:300]!r}"
            except BaseException as error:
                outcome, what = "finding", _told(error)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                watch.folder = ""
            if watch.touched:
                outcome, what = "finding", f"touched {watch.touched[0]}"
            print(json.dumps([number, outcome, what]), flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def in_memory() -> str | None:
    """Return a folder that is kept in memory, where syncing costs nothing, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def warm_up(chosen: Any, name: str, seed: int, base: Path) -> None:
    """Try one case without limits, so that what is imported when first used is there."""
    from fuzz.surface import generator

    folder = base / "first"
    folder.mkdir()
    chosen.prepare()
    with contextlib.suppress(Exception):
        chosen.read(chosen.make(generator(name, seed, -1), folder))


def limit_memory() -> None:
    """Allow this process one gigabyte more than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _overtime(number: int, frame: FrameType | None) -> None:
    raise OvertimeError(f"more than {SECONDS} s")


def _told(error: BaseException) -> str:
    places = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{Path(p.filename).name}:{p.lineno}" for p in reversed(places))
    return f"{type(error).__name__}: {str(error)[:200]} ({where})"


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    run(sys.argv[1], int(sys.argv[2]), range(int(sys.argv[3]), int(sys.argv[4])))
