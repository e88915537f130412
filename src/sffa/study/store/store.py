"""The store: one SQLite file, one row per run, claimed with a lease and kept for good."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sffa.environment import describe
from sffa.errors import DataError
from sffa.record import COLUMNS, Key, Record
from sffa.study.configuration import Run
from sffa.study.errors import StoreError
from sffa.study.store import recovery
from sffa.study.store.inspection import Unusable
from sffa.study.store.leases import Leases
from sffa.study.store.owner import is_gone
from sffa.study.store.schema import digest
from sffa.study.store.sqlite_file import (
    check_foreign,
    connect,
    connect_readonly,
    transaction,
    translate_errors,
)

LEASE = 60.0
TRIES = 3
_MARKS = ", ".join("?" for _ in COLUMNS)
_OVER = "status IN ('done', 'failed')"


class Store:
    """Records of a study, safe to share between processes of one machine.

    Parameters
    ----------
    path
        The file; it is made if absent or empty. One of an earlier format is brought up to date
        in its place. A store that is damaged, or of a later format, is renamed
        beside its place, what can be read is copied into a new one, and ``notice`` says so. A
        file that is no store is refused and left as it is.
    readonly
        Only read: nothing is made, moved or written.
    make
        Whether an absent or empty file becomes a store.

    Examples
    --------
    >>> from sffa.study import Run, Store, StaticConfig, execute
    >>> run = Run(
    ...     StaticConfig(
    ...         dataset="digits",
    ...         algorithm="bp",
    ...         negatives="none",
    ...         hidden=(20,),
    ...         epochs=1,
    ...         holdout=0,
    ...     )
    ... )
    >>> with Store("runs.sqlite") as store:
    ...     count = store.add([execute(run.config.model_dump())])
    ...     count, [record.algorithm for record in store.records()]
    (1, ['bp'])
    """

    def __init__(
        self, path: str | os.PathLike[str], *, readonly: bool = False, make: bool = True
    ) -> None:
        self.path = Path(path)
        self.notice: str | None = None
        self._leases = Leases()
        check_foreign(self.path, make=make and not readonly)
        self._db = self._read() if readonly else self._open()

    def _read(self) -> sqlite3.Connection:
        try:
            return connect_readonly(self.path)
        except Unusable as reason:
            raise StoreError(
                f"the store {self.path} cannot be trusted: {reason}; 'sffa study check' sets it "
                "aside and saves what can be read"
            ) from None

    def _open(self) -> sqlite3.Connection:
        with translate_errors(self.path, "open"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(Unusable):
            return connect(self.path)
        with recovery.alone(self.path):
            try:
                return connect(self.path)
            except Unusable as reason:
                aside = recovery.set_aside(Path(os.path.realpath(self.path)))
                saved = recovery.readable(aside)
                self._db = connect(self.path)
                self.add(saved)
                self.notice = (
                    f"the store {self.path} could not be trusted: {reason}; it is kept as "
                    f"{aside.name}, {len(saved)} records were saved from it"
                )
                return self._db

    def close(self) -> None:
        """Close the file; the last to close it folds the log into it."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with translate_errors(self.path, "write to"), transaction(self._db) as db:
            yield db

    def claim(self, runs: Iterable[Run], owner: str, lease: float = LEASE) -> Run | None:
        """Take the first run that nobody has done, failed or holds, and return it.

        A claim whose lease is over, or whose owner is a process of this machine that is gone, is
        free again. Whether a lease is over does not hang on the wall clock alone; see `Leases`.
        """
        with self._write() as db:
            held = {
                Key(h, s): (status, holder, until)
                for h, s, status, holder, until in db.execute(
                    "SELECT config_hash, seed, status, owner, lease FROM runs"
                )
            }
            for run in runs:
                status, holder, until = held.get(run.key, ("waiting", None, None))
                if status == "running" and (
                    is_gone(holder) or self._leases.is_over(run.key, until, lease)
                ):
                    self._note(db, run.key, "abandoned", holder)
                    status = "waiting"
                if status == "waiting":
                    until = time.time() + lease
                    self._take(db, run, owner, until)
                    self._leases.note(run.key, until, lease)
                    return run
        return None

    def _take(self, db: sqlite3.Connection, run: Run, owner: str, until: float) -> None:
        asked = Record(*run.cell, seed=run.key.seed, config=run.values, attempts=0)
        db.execute(
            f"INSERT OR IGNORE INTO runs ({', '.join(COLUMNS)}) VALUES ({_MARKS})",
            tuple((asked.cells() | {"status": "waiting"}).values()),
        )
        db.execute(
            "UPDATE runs SET status = 'running', owner = ?, lease = ?, started = ?, "
            "attempts = attempts + 1 WHERE config_hash = ? AND seed = ?",
            (owner, until, _now(), *run.key),
        )
        self._note(db, run.key, "claimed", owner)

    def finish(self, run: Run, owner: str, record: Record) -> bool:
        """Keep the record of a claimed run; False if the claim was lost to another meanwhile."""
        with self._write() as db:
            row = self._claimed(db, run.key, owner)
            if row is None:
                self._note(db, run.key, "late", owner)
                return False
            if record.key != run.key:
                raise StoreError(f"the record of {run} carries another configuration or seed")
            about: dict[str, Any] = {"attempts": row[0], "started": row[1], "finished": _now()}
            self._put(db, replace(record, status="done", **about))
            self._note(db, run.key, "done", owner)
            return True

    def fail(self, run: Run, owner: str, error: str, detail: str = "", tries: int = TRIES) -> bool:
        """Note that a claimed run failed; at the last of its tries keep that as its record."""
        with self._write() as db:
            row = self._claimed(db, run.key, owner)
            if row is None:
                self._note(db, run.key, "late", owner, error)
                return False
            attempts, started, failures = row
            self._note(db, run.key, "failed", owner, detail or error)
            db.execute(
                "UPDATE runs SET status = 'waiting', owner = NULL, lease = NULL, error = ?, "
                "failures = failures + 1 WHERE config_hash = ? AND seed = ?",
                (error, *run.key),
            )
            if failures + 1 < tries:
                return False
            environment = describe()
            record = Record(
                *run.cell,
                seed=run.key.seed,
                config=run.values,
                status="failed",
                environment=environment,
                version=environment["version"],
                attempts=attempts,
                started=started,
                finished=_now(),
                error=error,
            )
            self._put(db, record)
            return True

    def _claimed(self, db: sqlite3.Connection, key: Key, owner: str) -> tuple[int, str, int] | None:
        row: tuple[int, str, int] | None = db.execute(
            "SELECT attempts, started, failures FROM runs "
            "WHERE config_hash = ? AND seed = ? AND owner = ?",
            (*key, owner),
        ).fetchone()
        return row

    def _put(self, db: sqlite3.Connection, record: Record) -> None:
        """Write a finished row with its checksum, in place of what the key had."""
        values = tuple(record.cells().values())
        settings = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS)
        db.execute(
            f"INSERT INTO runs ({', '.join(COLUMNS)}, digest) VALUES ({_MARKS}, ?) "
            f"ON CONFLICT (config_hash, seed) DO UPDATE SET {settings}, "
            "digest = excluded.digest, owner = NULL, lease = NULL",
            (*values, digest(values)),
        )

    def release(self, owner: str) -> int:
        """Release all claims of an owner, as if they had not been made."""
        with self._write() as db:
            held = db.execute(
                "SELECT config_hash, seed FROM runs WHERE owner = ?", (owner,)
            ).fetchall()
            for row in held:
                self._note(db, Key(*row), "released", owner)
            db.execute(
                "UPDATE runs SET status = 'waiting', owner = NULL, lease = NULL WHERE owner = ?",
                (owner,),
            )
            return len(held)

    def retry_failed(self, runs: Iterable[Run]) -> int:
        """Let failed runs be tried again; return how many."""
        count = 0
        with self._write() as db:
            for run in runs:
                count += db.execute(
                    "UPDATE runs SET status = 'waiting', failures = 0, error = NULL, digest = NULL "
                    "WHERE config_hash = ? AND seed = ? AND status = 'failed'",
                    run.key,
                ).rowcount
        return count

    def add(self, records: Iterable[Record]) -> int:
        """Take in records from elsewhere; those done here stay. Return how many were new."""
        count = 0
        with self._write() as db:
            for record in records:
                row = db.execute(
                    "SELECT status FROM runs WHERE config_hash = ? AND seed = ?", record.key
                ).fetchone()
                status = row[0] if row else "waiting"
                if status == "waiting" or (status == "failed" and record.status == "done"):
                    self._put(db, record)
                    self._note(db, record.key, "imported", None)
                    count += 1
        return count

    def statuses(self) -> dict[Key, str]:
        """Return the status of every run that the store knows."""
        with translate_errors(self.path, "read"):
            rows = self._db.execute("SELECT config_hash, seed, status FROM runs").fetchall()
        return {Key(h, s): status for h, s, status in rows}

    def records(self, runs: Sequence[Run] | None = None) -> list[Record]:
        """Return the finished records, or those of ``runs``, by cell and seed."""
        with translate_errors(self.path, "read"):
            rows = self._db.execute(
                f"SELECT {', '.join(COLUMNS)} FROM runs WHERE {_OVER} "
                "ORDER BY dataset, scenario, method, algorithm, config_hash, seed"
            ).fetchall()
        try:
            found = [Record.from_cells(dict(zip(COLUMNS, row, strict=True))) for row in rows]
        except DataError as error:
            raise StoreError(f"a record of the store {self.path} cannot be read: {error}") from None
        if runs is None:
            return found
        wanted = {run.key for run in runs}
        return [record for record in found if record.key in wanted]

    def _note(
        self, db: sqlite3.Connection, key: Key, event: str, owner: str | None, detail: str = ""
    ) -> None:
        db.execute(
            "INSERT INTO events (at, config_hash, seed, event, owner, detail) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (_now(), *key, event, owner, detail or None),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
