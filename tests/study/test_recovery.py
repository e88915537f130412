from __future__ import annotations

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


@pytest.mark.parametrize("content", [b"not a database, just words" * 300, b"\0" * 8192])
def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(content)
    notice, kept, aside = reopened(path)
    assert aside == content
    assert kept == []
    assert "0 records were saved" in notice


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
