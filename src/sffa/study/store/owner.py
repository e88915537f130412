"""Who holds a claim, and whether that process is still there."""

from __future__ import annotations

import functools
import os
import platform
import secrets
from pathlib import Path


def new_owner() -> str:
    """Return a name for one holder of claims in this process: where, which process, which one."""
    return f"{_place()}|{os.getpid()}|{secrets.token_hex(4)}"


def is_gone(owner: str) -> bool:
    """Whether the owner was a process of this machine that is no longer there.

    Of another machine, or of another container, nothing can be told: its lease decides.
    """
    place, _, rest = owner.partition("|")
    number = rest.partition("|")[0]
    if place != _place() or not number.isdigit():
        return False
    import psutil

    try:
        return bool(psutil.Process(int(number)).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


@functools.cache
def _place() -> str:
    """Name what process numbers are unique in: this boot of this machine, this container."""
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8])
        parts.append(os.readlink("/proc/self/ns/pid").strip("pid:[]"))
    except OSError:
        pass
    return "/".join(parts).replace("|", "_")
