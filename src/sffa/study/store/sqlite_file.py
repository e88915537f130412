"""Opening a store's SQLite file, and what to say when that fails."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from sffa.errors import DataError
from sffa.files import reading
from sffa.study.errors import StoreError
from sffa.study.store import migrate
from sffa.study.store.inspection import Unusable, inspect
from sffa.study.store.schema import APPLICATION_ID, TABLES, VERSION
from sffa.study.upgrade import READABLE

_PATIENCE = 60.0
_MAGIC = b"SQLite format 3\0"
_ID_AT = 68
# What SQLite says when the way is barred, rather than the file damaged.
_BARRED = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}


@contextlib.contextmanager
def translate_errors(path: Path, doing: str) -> Iterator[None]:
    """Turn what SQLite and the system say into one line with a remedy."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot {doing} the store {path}: {_remedy(error, path)}") from error


def _remedy(error: Exception, path: Path) -> str:
    text = str(error)
    if "full" in text or getattr(error, "errno", None) == 28:
        return "the disk is full; make room and start again, what was recorded is kept"
    sealed = path.exists() and not os.access(path.parent, os.W_OK)
    if "readonly" in text or "read-only" in text.lower() or (sealed and "unable" in text):
        return "it is read-only; choose another place with --store"
    if "unable to open" in text or isinstance(error, OSError):
        return f"{text}; choose a folder that can be written with --store"
    if "locked" in text:
        return f"another process kept it locked for {_PATIENCE:.0f} s; start again"
    if isinstance(error, sqlite3.DatabaseError) and ("malformed" in text or "not a data" in text):
        return f"it is damaged ({text}); start again and what can be read will be saved"
    return text


def check_foreign(path: Path, *, make: bool) -> None:
    """Refuse what is no store by its first bytes, before SQLite or anybody else touches it.

    A store has SQLite's magic, or our mark if the magic is damaged; a young one has no mark yet.
    An absent or empty file becomes a store if ``make`` says so.
    """
    if not os.path.lexists(path) or (path.is_symlink() and not path.exists()):
        if make:
            return
        raise StoreError(f"there is no store at {path}")
    try:
        with reading(path, StoreError) as file:
            head = file.read(_ID_AT + 4)
    except StoreError as error:
        raise StoreError(f"{error}; name another with --store") from None
    if not head and make:
        return
    mark = int.from_bytes(head[_ID_AT:], "big")
    if head.startswith(_MAGIC) and mark not in (0, APPLICATION_ID):
        raise StoreError(f"{path} is an SQLite file of another program; name another with --store")
    if not head.startswith(_MAGIC) and (len(head) < _ID_AT + 4 or mark != APPLICATION_ID):
        what = "is empty" if not head else "is no store of sffa"
        raise StoreError(f"{path} {what}; it was left as it is, name another with --store")


def connect(path: Path) -> sqlite3.Connection:
    """Open for reading and writing, in write-ahead mode; make the tables of a new file.

    Raises
    ------
    Unusable
        If the file is damaged or of another version.
    """
    with translate_errors(path, "open"):
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        with translate_errors(path, "open"), _unusable(path):
            _identify(db, path)
            _write_ahead(db)
            db.execute("PRAGMA synchronous = FULL")
            with transaction(db):
                if not _identify(db, path):
                    for statement in TABLES:
                        db.execute(statement)
            inspect(db)
            if migrate.is_due(db):
                with transaction(db):
                    inspect(db)
                    migrate.migrate(db)
    except BaseException:
        db.close()
        raise
    return db


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open for reading only, also where nothing can be written.

    Where the folder can be written the connection could write too, so that the last to close it
    can tidy the log away; it is told not to.
    """
    if not path.is_file():
        raise StoreError(f"there is no store at {path}")
    uri = path.absolute().as_uri()
    ways = [f"{uri}?mode=rw", f"{uri}?mode=ro"]
    if not Path(f"{path}-wal").exists():
        ways.append(f"{uri}?mode=ro&immutable=1")
    for way in ways:
        db = sqlite3.connect(way, uri=True, timeout=_PATIENCE, isolation_level=None)
        try:
            with translate_errors(path, "read"), _unusable(path):
                db.execute("PRAGMA query_only = ON")
                if not _identify(db, path):
                    raise StoreError(f"{path} holds no study yet")
                inspect(db)
                return _up_to_date(db)
        except BaseException as error:
            db.close()
            cause = error.__cause__
            barred = isinstance(cause, sqlite3.DatabaseError) and _bars(cause, path)
            if not barred or way is ways[-1]:
                raise
    raise AssertionError("the last way returns or raises")  # pragma: no cover


def _up_to_date(db: sqlite3.Connection) -> sqlite3.Connection:
    """Return the store, or a copy in memory that is migrated where the file is not to change."""
    if not migrate.is_due(db):
        return db
    copy = sqlite3.connect(":memory:", isolation_level=None)
    db.backup(copy)
    db.close()
    migrate.migrate(copy)
    copy.execute("PRAGMA query_only = ON")
    return copy


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Write all of a block or nothing, alone."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _identify(db: sqlite3.Connection, path: Path) -> bool:
    """Whether our tables are there; a foreign file is an error, another version unusable.

    Tables are counted first: if another process makes them at this moment, together with its mark,
    the mark is seen too.
    """
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    kind = db.execute("PRAGMA application_id").fetchone()[0]
    if kind == 0 and tables == 0:
        return False
    if kind != APPLICATION_ID:
        raise StoreError(f"{path} is an SQLite file of another program; name another with --store")
    version = _version(db)
    if version not in READABLE:
        raise Unusable(f"it has format {version}, this version reads format {VERSION}")
    return True


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _unusable(path: Path) -> Iterator[None]:
    """Raise `Unusable` for damage, and leave alone what bars the way."""
    try:
        yield
    except DataError as error:
        raise Unusable(str(error)) from error
    except UnicodeDecodeError as error:  # a damaged name in what SQLite says
        raise Unusable("it holds names that are no text") from error
    except sqlite3.DatabaseError as error:
        if _bars(error, path):
            raise
        raise Unusable(" ".join(str(error).split())) from error


def _bars(error: sqlite3.DatabaseError, path: Path) -> bool:
    """Whether an error bars the way to a file that may be sound."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if not os.access(path, os.R_OK):
        return True
    if code == sqlite3.SQLITE_READONLY:  # a damaged header can say so too
        return not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
    return code in _BARRED


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; the switch itself does not wait for others, so we do."""
    limit = time.monotonic() + _PATIENCE
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > limit:
                raise
            time.sleep(0.05)
