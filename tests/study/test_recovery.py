from __future__ import annotations

import itertools
import random
import sqlite3
import time
from pathlib import Path

import pytest
from tests.study.conftest import result_of, tiny

from sffa.study import Record, Run, Store, StoreError
from sffa.study.store.heartbeat import Heartbeat

COUNT = 30


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return [tiny(seed=seed) for seed in range(COUNT)]


@pytest.fixture
def store(tmp_path: Path, runs: list[Run]) -> Path:
    """Make a store of 30 records with curves that fill several pages each."""
    path = tmp_path / "s.sqlite"
    with Store(path) as made:
        for run in runs:
            curve = [{"epoch": e, "loss": run.key.seed / (e + 1)} for e in range(100)]
            made.claim([run], "me")
            made.finish(run, "me", result_of(run, curve=curve))
    return path


def records(path: Path) -> list[Record]:
    with Store(path, readonly=True) as opened:
        return opened.records()


def reopened(path: Path) -> tuple[str, list[Record], bytes]:
    """Open a store; give its notice, its records, and the content of what was set aside."""
    with Store(path) as opened:
        notice, kept = opened.notice, opened.records()
    (aside,) = path.parent.glob("s.set-aside-*.sqlite")
    assert notice is not None
    assert aside.name in notice
    assert "\n" not in notice
    return notice, kept, aside.read_bytes()


def test_an_intact_store_is_left_alone(store: Path) -> None:
    before = store.read_bytes()
    with Store(store) as opened:
        assert opened.notice is None
        assert len(opened.records()) == COUNT
    assert store.read_bytes() == before


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_page_costs_only_its_own_records_and_the_file_is_kept(
    store: Path, seed: int
) -> None:
    whole = records(store)
    rng = random.Random(seed)
    content = bytearray(store.read_bytes())
    page = rng.randrange(4, len(content) // 4096 - 1) * 4096
    content[page : page + 4096] = rng.randbytes(4096)
    store.write_bytes(content)
    notice, kept, aside = reopened(store)
    assert aside == bytes(content)
    assert f"{len(kept)} records were saved" in notice
    assert COUNT - 12 <= len(kept) <= COUNT
    assert all(record in whole for record in kept)
    with Store(store) as opened:
        assert opened.notice is None
        assert opened.records() == kept


def test_a_machine_that_is_busy_costs_no_record(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = sqlite3.connect(store)
    db.execute("UPDATE runs SET digest = 'x' WHERE seed = 4")
    db.commit()
    db.close()
    minutes = itertools.count(0, 60)  # a minute passes between any two looks at the clock
    monkeypatch.setattr(time, "monotonic", lambda: float(next(minutes)))
    assert len(reopened(store)[1]) == COUNT - 1


def test_one_flipped_bit_in_a_number_is_noticed(store: Path) -> None:
    content = bytearray(store.read_bytes())
    place = content.index(b'"epochs":2')
    content[place + 9] = ord("3")
    store.write_bytes(content)
    notice, kept, _ = reopened(store)
    assert "checksum" in notice
    assert len(kept) == COUNT - 1


def test_a_file_cut_short_is_set_aside_with_what_remains(store: Path) -> None:
    whole = records(store)
    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 2])
    _, kept, aside = reopened(store)
    assert aside == content[: len(content) // 2]
    assert all(record in whole for record in kept)


@pytest.mark.parametrize(
    "content",
    [b"not a database, just words" * 300, b"\0" * 8192, b"x", b"SQLite format 2\0" * 90],
)
@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(
    tmp_path: Path, content: bytes, readonly: bool
) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is no store of sffa; it was left as it is"):
        Store(path, readonly=readonly)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]


def test_checking_makes_no_store_of_an_empty_or_absent_file(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    for name, told in (("empty", "is empty"), ("absent", "there is no store")):
        with pytest.raises(StoreError, match=told):
            Store(tmp_path / f"{name}.sqlite", make=False)
    assert [file.name for file in tmp_path.iterdir()] == ["empty.sqlite"]
    assert (tmp_path / "empty.sqlite").read_bytes() == b""


@pytest.mark.parametrize("place", [0, 5, 18, 19, 21, 47, 59])
def test_a_damaged_header_costs_no_record(store: Path, place: int) -> None:
    whole = records(store)
    content = bytearray(store.read_bytes())
    content[place] ^= 64
    store.write_bytes(content)
    with Store(store) as opened:
        assert opened.records() == whole
    for aside in store.parent.glob("s.set-aside-*"):
        assert aside.read_bytes() == bytes(content)


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ("UPDATE runs SET config = CAST(config AS BLOB) WHERE seed = 3", 1),
        ("UPDATE runs SET error = CAST(x'c328ff' AS TEXT) WHERE seed = 3", 1),
        ("UPDATE runs SET method = CAST(x'80' AS TEXT), seed = 99 WHERE seed = 3", 1),
        ("UPDATE runs SET rowid = 9223372036854775807 WHERE seed = 3", 0),
        ("UPDATE runs SET rowid = -5 WHERE seed = 3", 0),
        ("UPDATE runs SET attempts = 'many' WHERE seed = 3", 1),
        ("UPDATE runs SET started = 5.5 WHERE seed = 3", 1),
        ("UPDATE runs SET seed = 'x' WHERE seed = 3", 1),
        ("UPDATE runs SET seed = 1.5 WHERE seed = 3", 1),
        ("CREATE VIEW spy AS SELECT 1", 0),
        ("CREATE TRIGGER spy AFTER UPDATE ON runs BEGIN DELETE FROM events; END", 0),
        ("DROP TABLE events", 0),
    ],
)
def test_what_sffa_cannot_have_written_costs_no_other_record(
    store: Path, change: str, lost: int
) -> None:
    db = sqlite3.connect(store)
    db.execute(change)
    db.execute("UPDATE runs SET digest = 'x' WHERE seed = 4")
    db.commit()
    db.close()
    started = time.process_time()
    _, kept, _ = reopened(store)
    assert len(kept) == COUNT - 1 - lost
    assert time.process_time() - started < 10


@pytest.mark.parametrize("column", ["lease = 'soon'", "attempts = 'x'", "started = x'00'"])
def test_a_claim_that_makes_no_sense_is_set_aside_with_its_store(store: Path, column: str) -> None:
    run = tiny(seed=COUNT)
    with Store(store) as opened:
        opened.claim([run], "me")
    db = sqlite3.connect(store)
    db.execute(f"UPDATE runs SET {column} WHERE status = 'running'")
    db.commit()
    db.close()
    _, kept, _ = reopened(store)
    assert len(kept) == COUNT
    with Store(store) as opened:
        assert opened.claim([run], "you") == run


def test_a_view_that_never_ends_does_not_hang(store: Path) -> None:
    db = sqlite3.connect(store)
    db.execute("ALTER TABLE runs RENAME TO walks")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    db.execute(f"CREATE VIEW runs AS {endless}")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="holds the"):
        Store(store, readonly=True)
    _, kept, _ = reopened(store)
    assert kept == []


@pytest.mark.parametrize("version", [0, 3, 99])
def test_a_store_of_another_version_is_set_aside_with_its_records(
    store: Path, version: int
) -> None:
    whole = records(store)
    db = sqlite3.connect(store)
    db.execute(f"PRAGMA user_version = {version}")
    db.close()
    notice, kept, _ = reopened(store)
    assert f"format {version}" in notice
    assert kept == whole


def test_a_log_that_was_not_folded_in_is_saved_too(store: Path) -> None:
    """Leave it as a kill does: a record is only in the write-ahead log."""
    late = tiny(seed=1000)
    holder = Store(store)
    holder.claim([late], "me")
    holder.finish(late, "me", result_of(late))
    log = Path(f"{store}-wal").read_bytes()
    assert log
    main = store.read_bytes()
    holder.close()
    content = bytearray(main)
    content[5 * 4096 : 6 * 4096] = bytes(4096)
    store.write_bytes(content)
    Path(f"{store}-wal").write_bytes(log)
    with Store(store) as opened:
        kept = opened.records()
        assert opened.notice is not None
    assert late.key in {record.key for record in kept}


def test_reading_never_moves_a_damaged_store(store: Path) -> None:
    content = bytearray(store.read_bytes())
    content[3 * 4096 : 6 * 4096] = b"x" * 3 * 4096
    store.write_bytes(content)
    with pytest.raises(StoreError, match="cannot be trusted"):
        Store(store, readonly=True)
    assert store.read_bytes() == bytes(content)


def test_a_database_of_another_program_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE holidays (day)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="of another program"):
        Store(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "s.sqlite").touch()
    with Store(tmp_path / "s.sqlite") as opened:
        assert opened.notice is None
        assert opened.records() == []


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_clock_that_jumps_takes_no_run_from_an_owner_that_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    run, real, ahead = tiny(), time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + ahead[0])
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as two:
        assert one.claim([run], "another-machine|1|0", lease=0.4) == run
        with Heartbeat(one.path, "another-machine|1|0", lease=0.4):
            for ahead[0] in (jump, 0.0, 2 * jump):
                for _ in range(8):
                    assert two.claim([run], "thief", lease=0.4) is None
                    time.sleep(0.1)
        assert one.finish(run, "another-machine|1|0", result_of(run))
        assert two.claim([run], "thief", lease=0.4) is None


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_clock_that_jumps_keeps_no_run_from_others_when_its_owner_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    run, real, ahead = tiny(), time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + ahead[0])
    with Store(tmp_path / "s.sqlite") as one, Store(tmp_path / "s.sqlite") as two:
        assert one.claim([run], "another-machine|1|0", lease=0.4) == run
        ahead[0] = jump
        limit = time.monotonic() + 5
        while (taken := two.claim([run], "heir", lease=0.4)) is None:
            assert time.monotonic() < limit
            time.sleep(0.05)
        assert taken == run


def test_a_heartbeat_leaves_a_damaged_store_to_its_driver(store: Path) -> None:
    """The renewal of a lease must not set the file aside: the driver still writes to it."""
    run = tiny(seed=COUNT)
    with Store(store) as driver:
        driver.claim([run], "me", lease=0.4)
        with sqlite3.connect(store) as other:
            other.execute("UPDATE runs SET seconds = 99 WHERE seed = 0")
        other.close()
        with Heartbeat(store, "me", lease=0.4):
            time.sleep(0.8)
            assert driver.claim([run], "thief") is None
        assert driver.finish(run, "me", result_of(run))
    assert not list(store.parent.glob("s.set-aside-*"))
    _, kept, _ = reopened(store)
    assert {record.seed for record in kept} == set(range(1, COUNT + 1))


def test_a_heartbeat_makes_no_store(tmp_path: Path) -> None:
    with Heartbeat(tmp_path / "gone.sqlite", "me", lease=0.1):
        time.sleep(0.1)
    assert not list(tmp_path.iterdir())


def test_a_damaged_name_of_a_column_is_set_aside_without_a_traceback(store: Path) -> None:
    content = store.read_bytes()
    assert b"peak_memory_mb" in content
    store.write_bytes(content.replace(b"peak_memory_mb", b"\xe0eak_memory_mb", 1))
    notice, _, aside = reopened(store)
    assert "0 records were saved" in notice
    assert b"\xe0eak_memory_mb" in aside


def test_a_damaged_schema_that_sqlite_quotes_is_set_aside_without_a_traceback(store: Path) -> None:
    content = store.read_bytes()
    assert b"CREATE TABLE runs (" in content
    store.write_bytes(content.replace(b"CREATE TABLE runs (", b"CREATE \xc1\xc1\xc1E runs (", 1))
    with pytest.raises(StoreError, match="cannot be trusted") as said:
        records(store)
    assert "\n" not in str(said.value)
    assert "0 records were saved" in reopened(store)[0]
