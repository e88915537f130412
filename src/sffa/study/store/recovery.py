"""A store that cannot be trusted: set it aside, untouched, and save what can be read from it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from sffa.record import COLUMNS, Record, Value
from sffa.study.store.schema import digest
from sffa.study.store.sqlite_file import translate_errors
from sffa.study.upgrade import from_cells, present_columns

_COMPANIONS = ("-wal", "-shm", "")
# Row numbers to try beyond the last one that could be read, when their count cannot.
_BEYOND = 5000


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Let one process at a time judge and move the store; the lock is on its folder."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def set_aside(path: Path) -> Path:
    """Rename the store and its log beside their place and return the new name.

    The log goes first: a log without its file is harmless, but beside a new file it is not.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.stem}.set-aside-{stamp}{path.suffix}")
    with translate_errors(path, "set aside"):
        for ending in _COMPANIONS:
            companion = Path(f"{path}{ending}")
            if companion.exists():
                os.rename(companion, f"{aside}{ending}")
    return aside


def readable(aside: Path) -> list[Record]:
    """Return every record that can still be read and proves intact, from a copy of the file."""
    with tempfile.TemporaryDirectory(prefix="sffa-salvage-") as folder:
        copy = Path(folder) / "store.sqlite"
        for ending in ("-wal", ""):
            if Path(f"{aside}{ending}").exists():
                shutil.copyfile(f"{aside}{ending}", f"{copy}{ending}")
        db = sqlite3.connect(copy, isolation_level=None)
        try:
            return list(_records(db))
        finally:
            db.close()


def _records(db: sqlite3.Connection) -> Iterator[Record]:
    """Look every row up by itself, so that a damaged page costs only its own rows."""
    try:
        last = db.execute("SELECT max(rowid) FROM runs").fetchone()[0] or 0
    except sqlite3.DatabaseError:
        last = None
    row, limit = 0, _BEYOND if last is None else last
    while row < limit:
        row += 1
        record = _row(db, row)
        if record is not None:
            limit = max(limit, row + _BEYOND) if last is None else limit
            yield record


def _row(db: sqlite3.Connection, row: int) -> Record | None:
    try:
        cursor = db.execute("SELECT * FROM runs WHERE rowid = ?", (row,))
        values = cursor.fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    if values is None:
        return None
    names = (column[0] for column in cursor.description)
    cells: dict[str, Value] = present_columns(dict(zip(names, values, strict=True)))
    if cells.get("status") not in ("done", "failed"):
        return None
    try:
        if digest([cells[name] for name in COLUMNS]) != cells["digest"]:
            return None
        return from_cells(cells)
    except (KeyError, TypeError, ValueError):
        return None
