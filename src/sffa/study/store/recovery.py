"""A store that cannot be trusted: set it aside, untouched, and save what can be read from it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from sffa.record import COLUMNS, Record, Value
from sffa.study.store.inspection import BESIDE, LONGEST, Unusable, check_row
from sffa.study.store.sqlite_file import translate_errors
from sffa.study.upgrade import from_cells, present_columns

_COMPANIONS = ("-wal", "-shm", "")
# Row numbers to try beyond the last one that could be read.
_BEYOND = 5000
# Row numbers to take in from one side, at most.
_MOST = 1_000_000
_SECONDS = 5.0
# What stands at fixed places of every store's header: magic, write-ahead log, fractions, formats.
_HEADER = {
    0: b"SQLite format 3\0",
    18: bytes((2, 2)),
    21: bytes((64, 32, 32)),
    44: bytes((0, 0, 0, 4)),
    56: bytes((0, 0, 0, 1)),
}


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
    """Return every record that can still be read and proves intact, from a copy of the file.

    However the file is damaged, it takes a few seconds and one for each megabyte of it; seconds of
    the processor, as a busy machine shall cost no record.
    """
    with tempfile.TemporaryDirectory(prefix="sffa-salvage-") as folder:
        copy = Path(folder) / "store.sqlite"
        for ending in ("-wal", ""):
            if Path(f"{aside}{ending}").exists():
                shutil.copyfile(f"{aside}{ending}", f"{copy}{ending}")
        _mend_header(copy)
        deadline = time.thread_time() + _SECONDS + copy.stat().st_size / 2**20
        db = sqlite3.connect(copy, isolation_level=None)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        db.set_progress_handler(lambda: time.thread_time() > deadline, 10_000)
        try:
            return list(_records(db, deadline))
        finally:
            db.close()


def _mend_header(copy: Path) -> None:
    """Write what the header of every store says where that of a copy says otherwise."""
    with open(copy, "rb+") as file:
        head = bytearray(file.read(100))
        if len(head) < 100:
            return
        for place, known in _HEADER.items():
            head[place : place + len(known)] = known
        size = int.from_bytes(head[16:18], "big")
        if size != 1 and (size < 512 or size & (size - 1)):
            head[16:18] = (4096).to_bytes(2, "big")
        file.seek(0)
        file.write(head)


def _records(db: sqlite3.Connection, deadline: float) -> Iterator[Record]:
    """Look every row up by itself, so that a damaged page costs only its own rows."""
    seen: set[tuple[str, int | None]] = set()
    for row in sorted(_rows(db, deadline)):
        if time.thread_time() > deadline:
            return
        record = _row(db, row)
        if record is not None and (key := (record.config_hash, record.seed)) not in seen:
            seen.add(key)
            yield record


def _rows(db: sqlite3.Connection, deadline: float) -> set[int]:
    """Return the numbers of the rows, from every side from which the file can be read.

    The index has them all unless it is damaged; the table has them from either end up to a
    damaged page; between, those are tried that the rows around suggest.
    """
    index = "SELECT rowid FROM runs INDEXED BY sqlite_autoindex_runs_1 ORDER BY config_hash"
    rising = _numbers(db, "SELECT rowid FROM runs NOT INDEXED ORDER BY rowid")
    falling = _numbers(db, "SELECT rowid FROM runs NOT INDEXED ORDER BY rowid DESC")
    found = {*rising, *falling, *_numbers(db, index)}
    first = max(rising, default=0)
    found |= {*range(first + 1, first + _BEYOND)}
    if falling:
        found |= {*range(max(1, min(falling) - _BEYOND), min(falling))}
    return found


def _numbers(db: sqlite3.Connection, query: str) -> list[int]:
    found: list[int] = []
    try:
        for (row,) in islice(db.execute(query), _MOST):
            if isinstance(row, int):
                found.append(row)
    except (sqlite3.Error, UnicodeDecodeError):
        pass
    return found


def _row(db: sqlite3.Connection, row: int) -> Record | None:
    try:
        cursor = db.execute("SELECT * FROM runs NOT INDEXED WHERE rowid = ?", (row,))
        values = cursor.fetchone()
        names = [column[0] for column in cursor.description]
    except (sqlite3.Error, OverflowError, UnicodeDecodeError):  # names of columns are damaged too
        return None
    if values is None:
        return None
    cells: dict[str, Value] = present_columns(dict(zip(names, values, strict=True)))
    if cells.get("status") not in ("done", "failed"):
        return None
    try:
        check_row({name: cells[name] for name in (*COLUMNS, *BESIDE)})
        record = from_cells(cells)
        record.cells()
        return record
    except (Unusable, KeyError, TypeError, ValueError, RecursionError):
        return None
