"""The store's tables in SQL; docs/results-store.md explains them to people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from sffa.record import COLUMNS, INTEGERS, REALS, SCHEMA, Value

# "sffa" in ASCII: how a store is told from any other SQLite file.
APPLICATION_ID = 0x73666661
VERSION = SCHEMA


def _type(name: str) -> str:
    return "INTEGER" if name in INTEGERS else "REAL" if name in REALS else "TEXT"


_RUN_COLUMNS = ",\n  ".join(f"{name} {_type(name)}" for name in COLUMNS)

TABLES = (
    f"""
CREATE TABLE runs (
  {_RUN_COLUMNS},
  failures INTEGER NOT NULL DEFAULT 0,
  owner TEXT,
  lease REAL,
  digest TEXT,
  PRIMARY KEY (config_hash, seed),
  CHECK (status IN ('waiting', 'running', 'done', 'failed')),
  CHECK ((status = 'running') = (owner IS NOT NULL))
)""",
    """
CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  config_hash TEXT NOT NULL,
  seed INTEGER NOT NULL,
  event TEXT NOT NULL,
  owner TEXT,
  detail TEXT
)""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


def columns_of(version: int) -> tuple[str, ...]:
    """Return the columns of a finished run in a format, in the order of ``COLUMNS``."""
    old = {"val_selected": "chosen"} if version == 1 else {}
    return tuple(old.get(name, name) for name in COLUMNS)


def digest(values: Sequence[Value]) -> str:
    """Return the checksum of a finished row: of its values in the order of ``COLUMNS``."""
    return hashlib.sha256(json.dumps(list(values)).encode()).hexdigest()
