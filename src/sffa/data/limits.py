"""How much a file may unpack to: known before anything is allocated for it."""

from __future__ import annotations

import os
import zipfile
from typing import Any

from sffa.errors import ConfigurationError, DataError

VARIABLE = "SFFA_MAX_BYTES"
ABSOLUTE = 4 << 30
RELATIVE = 100
ALWAYS = 256 << 20
"""What every file may unpack to, however small it is."""


def allowance(stored: int) -> int:
    """Return how many bytes a file of ``stored`` bytes may unpack to.

    A hundred times as many, at least 256 MiB and at most 4 GiB; the environment variable
    ``SFFA_MAX_BYTES`` replaces this rule by one number.

    >>> (
    ...     allowance(1000) == 256 << 20,
    ...     allowance(10 << 20) == 1000 << 20,
    ...     allowance(1 << 40) == 4 << 30,
    ... )
    (True, True, True)
    """
    told = os.environ.get(VARIABLE)
    if told:
        if not told.isdecimal():
            raise ConfigurationError(f"{VARIABLE} must be a number of bytes, got {told!r}")
        return int(told)
    return min(ABSOLUTE, max(ALWAYS, RELATIVE * stored))


def check_size(size: int, stored: int, where: Any) -> None:
    """Raise unless ``size`` bytes may come out of the ``stored`` bytes at ``where``."""
    limit = allowance(stored)
    if size > limit:
        raise DataError(
            f"{where}: unpacks to {size:,} bytes from {stored:,}, more than the limit of "
            f"{limit:,}; if you trust it, set {VARIABLE} to a larger number of bytes"
        )


def check_zip_member(info: zipfile.ZipInfo, where: Any) -> None:
    """Raise unless a member can be read with a bounded decompressor and without a password."""
    if info.flag_bits & 1:
        raise DataError(f"{where}: {info.filename[:80]!r} is encrypted; store it in the clear")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(
            f"{where}: {info.filename[:80]!r} is compressed in a way that is not read here "
            f"(zip method {info.compress_type}); expected stored or deflated"
        )
