"""A store of an earlier format, or of an earlier normal form of configurations, made today's."""

from __future__ import annotations

import sqlite3

from sffa.record import COLUMNS, Value
from sffa.study.store.schema import VERSION, columns_of, digest
from sffa.study.upgrade import present_columns, upgraded_cells

# Of two rows that turn out to be one run, the one that is further stays.
_WORTH = ("waiting", "running", "failed", "done")
_Rows = list[tuple[int, dict[str, Value], dict[str, Value]]]


def is_due(db: sqlite3.Connection) -> bool:
    """Whether anything in the store is not as it would be written today."""
    return _version(db) != VERSION or bool(_stale(db))


def migrate(db: sqlite3.Connection) -> None:
    """Bring tables, keys and checksums up to date; call it within a transaction."""
    stale = _stale(db)
    if _version(db) == 1:
        db.execute("ALTER TABLE runs RENAME COLUMN chosen TO val_selected")
        db.execute(f"PRAGMA user_version = {VERSION}")
    for row, before, after in stale:
        _rewrite(db, row, before, after)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _stale(db: sqlite3.Connection) -> _Rows:
    """Return the rows that would be written otherwise today: number, cells now and then."""
    names = columns_of(_version(db))
    found: _Rows = []
    for row, *values in db.execute(f"SELECT rowid, {', '.join(names)} FROM runs"):
        cells = dict(zip(names, values, strict=True))
        before, after = present_columns(cells), upgraded_cells(cells)
        if before != after:
            found.append((row, before, after))
    return found


def _rewrite(
    db: sqlite3.Connection, row: int, before: dict[str, Value], after: dict[str, Value]
) -> None:
    key = (after["config_hash"], after["seed"])
    twin = db.execute(
        "SELECT rowid, status FROM runs WHERE config_hash = ? AND seed = ? AND rowid != ?",
        (*key, row),
    ).fetchone()
    if twin is not None:
        stays = _WORTH.index(twin[1]) >= _WORTH.index(str(before["status"]))
        db.execute("DELETE FROM runs WHERE rowid = ?", (row if stays else twin[0],))
    values = [after[name] for name in COLUMNS]
    over = after["status"] in ("done", "failed")
    settings = ", ".join(f"{name} = ?" for name in COLUMNS)
    db.execute(
        f"UPDATE runs SET {settings}, digest = ? WHERE rowid = ?",
        (*values, digest(values) if over else None, row),
    )
    db.execute(
        "UPDATE events SET config_hash = ? WHERE config_hash = ? AND seed = ?",
        (key[0], before["config_hash"], key[1]),
    )
