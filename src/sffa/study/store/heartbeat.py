"""Keeping claims alive while runs take their time."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sffa.study.store.store import LEASE

_RENEW = "UPDATE runs SET lease = ? WHERE owner = ?"


class Heartbeat:
    """Renew the leases of an owner from a thread, four times a lease, while the block lasts.

    The thread has a connection of its own, which never inspects the file nor sets it aside: that
    would take it from under the driver. A renewal that fails is tried again at the next beat; the
    driver meets the same trouble when it writes, and reports it.
    """

    def __init__(self, path: Path, owner: str, lease: float = LEASE) -> None:
        self._path = path
        self._owner = owner
        self._lease = lease
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(10)

    def _beat(self) -> None:
        while not self._over.wait(self._lease / 4):
            with suppress(sqlite3.Error), closing(self._connect()) as db, db:
                db.execute(_RENEW, (time.time() + self._lease, self._owner))

    def _connect(self) -> sqlite3.Connection:
        """Open the file if it is there; never make one."""
        address = f"{self._path.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=self._lease / 4)
