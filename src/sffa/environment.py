"""Where a record comes from: package, commit, libraries and machine."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from sffa._version import __version__

_LIBRARIES = ("torch", "numpy", "numba", "scipy", "scikit-learn")


def describe() -> dict[str, Any]:
    """Describe this process as a record keeps it; JSON-ready."""
    import torch

    return {**_fixed(), "threads": torch.get_num_threads()}


@functools.cache
def _fixed() -> dict[str, Any]:
    cpu = cpu_field("model name") or platform.processor() or platform.machine()
    return {
        "version": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "libraries": {name: _installed(name) for name in _LIBRARIES},
        "machine": {"cpu": cpu, "cores": cores(), "os": platform.platform()},
    }


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit the package was run from, with ``+`` if files differ; None if installed."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return None
    git = ["git", "-C", os.fspath(root)]
    try:
        asked = {"capture_output": True, "text": True, "timeout": 10, "check": True}
        head = subprocess.run([*git, "rev-parse", "HEAD"], **asked)  # type: ignore[call-overload]
        changed = subprocess.run(  # type: ignore[call-overload]
            [*git, "status", "--porcelain", "--untracked-files=no", "--", "src"], **asked
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return str(head.stdout).strip() + ("+" if str(changed.stdout).strip() else "")


def cpu_field(name: str) -> str:
    """Return what Linux says of the first processor, such as ``vendor_id``; else nothing."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(name):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return ""
