"""Whether everything in a store is as it was written, row by row."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping

from sffa.record import COLUMNS, INTEGERS, REALS, Value
from sffa.study.store.schema import columns_of, digest

BESIDE = ("failures", "owner", "lease", "digest")
_EVENTS = "number, at, config_hash, seed, event, owner, detail"
_NEEDED = ("seed", "schema", "attempts", "failures")
LONGEST = 1 << 28
"""Bytes of one value, at most; no record of a run is as long."""


class Unusable(Exception):
    """A file that must be set aside, and why."""


def inspect(db: sqlite3.Connection) -> None:
    """Check the file's structure, the types of every row and the checksum of every finished one."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    _check_tables(db)
    verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise Unusable(str(verdict).splitlines()[-1])
    db.execute(f"SELECT {_EVENTS} FROM events LIMIT 1").fetchone()
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    names = (*COLUMNS, *BESIDE)
    columns = ", ".join((*columns_of(version), *BESIDE))
    for row in db.execute(f"SELECT {columns} FROM runs"):
        check_row(dict(zip(names, row, strict=True)))


def _check_tables(db: sqlite3.Connection) -> None:
    """Refuse views, triggers and made-up tables, which could do anything when read or written."""
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        table = kind == "table" and str(sql).upper().startswith("CREATE TABLE")
        ours = table and name in ("runs", "events")
        if not (ours or kind == "index" or (table and str(name).startswith("sqlite_"))):
            raise Unusable(f"it holds the {kind} '{str(name)[:40]}', which is not sffa's")


def check_row(row: Mapping[str, Value]) -> None:
    """Refuse a row that sffa cannot have written."""
    for name, value in row.items():
        if name in INTEGERS or name == "failures":
            kinds: tuple[type, ...] = (int,)
        else:
            kinds = (int, float) if name in REALS or name == "lease" else (str,)
        if not isinstance(value, kinds) and (value is not None or name in _NEEDED):
            raise Unusable(f"{name} of a run is no {_KINDS[kinds[-1]]}")
    status, lease = row["status"], row["lease"]
    if status not in ("waiting", "running", "done", "failed"):
        raise Unusable(f"a run has the status {str(status)[:20]!r}")
    if status == "running" and not (
        row["owner"] and isinstance(lease, int | float) and math.isfinite(lease)
    ):
        raise Unusable("a claim has no owner, or no lease")
    if not isinstance(row["config"], str) or not isinstance(row["config_hash"], str):
        raise Unusable("a run has no configuration")
    if status in ("done", "failed"):
        if digest([row[name] for name in COLUMNS]) != row["digest"]:
            raise Unusable("a record does not match its checksum")
    else:
        _check_config(row["config"])


def _check_config(text: str) -> None:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise Unusable("the configuration of a run cannot be read")


_KINDS = {int: "whole number", float: "number", str: "text"}
