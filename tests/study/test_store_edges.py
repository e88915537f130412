"""What a store refuses, survives and says, where files, locks and processes are not as usual."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from tests.study.conftest import result_of, tiny

from sffa.study import Store, StoreError, StudyError, export_csv, read_records
from sffa.study.store import owner, recovery, sqlite_file
from sffa.study.store.csv_file import import_csv
from sffa.study.store.inspection import check_row


def made(path: Path, count: int = 3) -> Path:
    with Store(path) as store:
        store.add([result_of(tiny(seed=seed)) for seed in range(count)])
    return path


def change(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute(statement)
    db.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET status = 'waiting', config = 'no JSON' WHERE seed = 0",
        "UPDATE runs SET status = 'waiting', config = '[1]' WHERE seed = 0",
        "UPDATE runs SET status = 'waiting', config = '{}' WHERE seed = 0",
    ],
)
def test_a_row_that_nobody_wrote_sets_the_store_aside_and_keeps_the_others(
    statement: str, tmp_path: Path
) -> None:
    path = made(tmp_path / "s.sqlite")
    change(path, statement)
    with Store(path) as store:
        assert store.notice
        assert [record.seed for record in store.records()] == [1, 2]
    assert len(list(tmp_path.glob("s.set-aside-*.sqlite"))) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"status": "sleeping"}, "the status 'sleeping'"),
        ({"status": "running", "owner": "one", "lease": float("inf")}, "no owner, or no lease"),
        ({"status": "running", "owner": "", "lease": 1.0}, "no owner, or no lease"),
        ({"status": "waiting", "config": "[1]"}, "configuration of a run cannot be read"),
        ({"config": None}, "a run has no configuration"),
        ({"acc": "much"}, "acc of a run is no number"),
        ({"acc": 99.0}, "does not match its checksum"),
    ],
)
def test_a_row_that_nobody_wrote_is_refused(changes: dict, said: str, tmp_path: Path) -> None:
    db = sqlite3.connect(made(tmp_path / "s.sqlite", 1))
    db.row_factory = sqlite3.Row
    row = dict(db.execute("SELECT * FROM runs").fetchone())
    db.close()
    check_row(row)
    with pytest.raises(sqlite_file.Unusable, match=said):
        check_row({**row, **changes})


def test_a_csv_with_a_run_that_is_not_over_is_refused(tmp_path: Path) -> None:
    export_csv(tmp_path / "a.csv", [result_of(tiny())])
    text = (tmp_path / "a.csv").read_text().replace(",done,", ",running,")
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(StudyError, match=r"line 2.*status 'running'"):
        import_csv(tmp_path / "a.csv")


def test_a_csv_on_a_disk_that_fails_is_one_line(tmp_path: Path, failing_disk: None) -> None:
    export_csv(tmp_path / "a.csv", [result_of(tiny())])
    with pytest.raises(StudyError, match=r"cannot read .*a\.csv: Input/output error"):
        import_csv(tmp_path / "a.csv")


def test_where_the_system_tells_nothing_of_itself_the_name_of_the_machine_is_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> str:
        raise PermissionError(13, "Permission denied")

    spec = importlib.util.spec_from_file_location("another_owner", owner.__file__)
    assert spec is not None
    assert spec.loader is not None
    another = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(another)
    monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(os, "readlink", refuse)
    mine = another.new_owner()
    assert mine.split("|")[:2] == [platform.node().replace("|", "_"), str(os.getpid())]
    assert not another.is_gone(mine)


def test_whether_a_process_that_tells_nothing_is_gone_is_left_to_its_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Hidden:
        def __init__(self, number: int) -> None:
            raise psutil.AccessDenied(number)

    mine = owner.new_owner()
    assert not owner.is_gone(mine)
    monkeypatch.setattr(psutil, "Process", Hidden)
    assert not owner.is_gone(mine)


def test_stores_work_where_folders_cannot_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with recovery.alone(tmp_path / "s.sqlite"):
        pass
    assert len(read_records(made(tmp_path / "s.sqlite"))) == 3


def test_of_a_stump_nothing_can_be_read_and_nothing_is_raised(tmp_path: Path) -> None:
    stump = tmp_path / "stump.sqlite"
    stump.write_bytes(b"SQLite format 3\0")
    assert recovery.readable(stump) == []


def test_records_are_saved_from_a_file_whose_header_lies_about_its_pages(tmp_path: Path) -> None:
    path = made(tmp_path / "s.sqlite")
    change(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[16:18] = (777).to_bytes(2, "big")
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(content)
    assert [record.seed for record in recovery.readable(damaged)] == [0, 1, 2]


def test_another_programs_file_and_an_absent_one_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    change(other, "PRAGMA application_id = 77")
    change(other, "CREATE TABLE t (x)")
    with pytest.raises(StoreError, match="an SQLite file of another program"):
        Store(other)
    with pytest.raises(StoreError, match="there is no store at"):
        sqlite_file.connect_readonly(tmp_path / "absent.sqlite")


def test_a_file_that_holds_no_study_yet_is_told_to_those_who_read(tmp_path: Path) -> None:
    change(tmp_path / "young.sqlite", "PRAGMA journal_mode = WAL")
    with pytest.raises(StoreError, match=r"(no study yet|is empty|no store)"):
        sqlite_file.connect_readonly(tmp_path / "young.sqlite")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (sqlite3.OperationalError("database is locked"), "another process kept it locked"),
        (sqlite3.DatabaseError("database disk image is malformed"), "it is damaged"),
        (sqlite3.DatabaseError("something else"), "something else"),
    ],
)
def test_what_sqlite_says_has_a_remedy(error: Exception, said: str, tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match=said) as caught,
        sqlite_file.translate_errors(tmp_path / "s.sqlite", "read"),
    ):
        raise error
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("held", ["EXCLUSIVE", "IMMEDIATE"])
def test_a_store_that_another_holds_for_a_moment_is_opened_after_it(
    held: str, tmp_path: Path
) -> None:
    """Also by a writer, who lets others read: at the switch to the log SQLite does not wait."""
    path = made(tmp_path / "s.sqlite")
    change(path, "PRAGMA journal_mode = DELETE")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute(f"BEGIN {held}")
    timer = threading.Timer(0.3, other.rollback)
    timer.start()
    with Store(path) as store:
        assert len(store.records()) == 3
    timer.join()
    other.close()


def test_a_store_that_another_never_lets_go_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "s.sqlite")
    change(path, "PRAGMA journal_mode = DELETE")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    hours = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(time, "monotonic", lambda: next(hours))
    with pytest.raises(StoreError, match="another process kept it locked"):
        Store(path)
    other.close()
    assert not list(tmp_path.glob("*set-aside*"))


def test_a_header_that_calls_a_store_read_only_is_damage_where_it_can_be_written(
    tmp_path: Path,
) -> None:
    path = made(tmp_path / "s.sqlite")
    change(path, "PRAGMA journal_mode = DELETE")
    content = bytearray(path.read_bytes())
    content[18] = 3  # the version that a writer must know
    path.write_bytes(content)
    with Store(path) as store:
        assert store.notice
        assert [record.seed for record in store.records()] == [0, 1, 2]


def test_a_store_that_may_not_be_read_is_left_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "s.sqlite")
    change(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[100:4096] = bytes(3996)  # what SQLite says of it then would set it aside
    path.write_bytes(content)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match=r"s\.sqlite"):
        Store(path)
    assert path.read_bytes() == bytes(content)
    assert not list(tmp_path.glob("*set-aside*"))


def test_a_record_that_is_damaged_while_its_store_is_open_is_one_line(tmp_path: Path) -> None:
    with Store(made(tmp_path / "s.sqlite")) as store:
        change(store.path, "UPDATE runs SET config = 'no JSON' WHERE seed = 1")
        with pytest.raises(StoreError, match=r"a record of the store .* cannot be read"):
            store.records()


def test_a_failure_that_comes_after_its_claim_was_lost_is_noted_and_dropped(tmp_path: Path) -> None:
    run = tiny()
    with Store(tmp_path / "s.sqlite") as store:
        store.claim([run], "one")
        assert not store.fail(run, "another", "too late")
        assert store.statuses()[run.key] == "running"
    db = sqlite3.connect(tmp_path / "s.sqlite")
    assert ("late", "another", "too late") in db.execute(
        "SELECT event, owner, detail FROM events"
    ).fetchall()
    db.close()


def test_a_copy_of_a_store_is_read_like_the_store(tmp_path: Path) -> None:
    path = made(tmp_path / "s.sqlite")
    shutil.copyfile(path, tmp_path / "copy.sqlite")
    assert read_records(tmp_path / "copy.sqlite") == read_records(path)
