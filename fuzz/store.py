"""Stores: damaged pages, values of other types, with checksums that fit or do not."""

from __future__ import annotations

import os
import sqlite3
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.csv_file import cell, sound
from fuzz.mutate import damaged
from fuzz.surface import Surface
from sffa.environment import describe
from sffa.record import COLUMNS
from sffa.study import Store
from sffa.study.configuration import parse
from sffa.study.errors import StoreError
from sffa.study.store.schema import digest

_ODD: tuple[Any, ...] = (None, b"x", b"\xff", 1.5, -1, 2**63 - 1, "", "soon", "done", float("inf"))
describe()  # asks git, once
_BESIDE = ("failures", "owner", "lease", "digest")
_COMMANDS = (
    "UPDATE runs SET rowid = 9223372036854775807 WHERE seed = 1",
    "UPDATE runs SET error = CAST(x'c328' AS TEXT) WHERE seed = 1",
    "CREATE VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM runs; END",
    "DROP TABLE events",
    "PRAGMA user_version = 77",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 0",
    "ALTER TABLE runs ADD COLUMN more TEXT",
    "DELETE FROM runs",
)


@cache
def _runs() -> list[Any]:
    return [parse(record.config) for record in sound()]


@cache
def _sound() -> bytes:
    waiting = parse({"scenario": "static", "dataset": "digits", "seed": 9})
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        with Store(path) as store:
            store.add(sound())
            store.claim([waiting], "another|1|2")
        return path.read_bytes()


def _edited(rng: Random, path: Path) -> None:
    """Change values with SQL, and write the checksums anew in half of the cases."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute("PRAGMA journal_mode = DELETE")
        for _ in range(rng.choice((1, 1, 2, 3))):
            if rng.random() < 0.3:
                db.execute(rng.choice(_COMMANDS))
                continue
            name = rng.choice((*COLUMNS, *_BESIDE))
            row = rng.choice((1, 2, 3, 4))
            old = db.execute(f"SELECT {name} FROM runs WHERE rowid = ?", (row,)).fetchone()
            text = old[0] if old and isinstance(old[0], str) else ""
            value = cell(rng, text) if rng.random() < 0.6 else rng.choice(_ODD)
            db.execute(f"UPDATE runs SET {name} = ? WHERE rowid = ?", (value, row))
        if rng.random() < 0.5:
            for row, *values in db.execute(
                f"SELECT rowid, {', '.join(COLUMNS)} FROM runs"
            ).fetchall():
                db.execute("UPDATE runs SET digest = ? WHERE rowid = ?", (digest(values), row))
    except (sqlite3.Error, TypeError, ValueError):
        pass
    finally:
        db.close()


def make(rng: Random, folder: Path) -> Path:
    """Write a store that is damaged in its bytes, or edited."""
    path = folder / "s.sqlite"
    path.write_bytes(_sound())
    if rng.random() < 0.5:
        _edited(rng, path)
    else:
        content = _sound()
        if rng.random() < 0.5:
            page = 4096 * rng.randrange(len(content) // 4096)
            content = content[:page] + damaged(rng, content[page:])
        else:
            content = damaged(rng, content)
        path.write_bytes(content)
    os.environ["SQLITE_TMPDIR"] = os.environ["TMPDIR"] = str(folder)
    return path


def read(path: Path) -> None:
    """Read it, then open it to write: it is trusted, or set aside and begun anew."""
    import tempfile

    tempfile.tempdir = str(path.parent)
    try:
        with Store(path, readonly=True) as store:
            store.records()
    except StoreError:
        pass
    with Store(path) as store:
        store.records()
        store.statuses()
        run = store.claim(_runs(), "me")
        if run is not None:
            store.fail(run, "me", "no", tries=1)
        store.release("me")
        store.retry_failed(_runs())
    with Store(path) as store:
        assert store.notice is None


SURFACE = Surface(make, read)
