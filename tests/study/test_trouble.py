"""What can go wrong around a study: one clear line each, and nothing lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.study.conftest import GRID, invoke, result_of, tiny

from sffa.study import Store, StoreError, StudyError, export_csv, read_records


def mounted(folder: Path, options: str) -> Iterator[Path]:
    """Mount a small file system, where that is allowed, and take it away again."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root, to mount a small file system")
    folder.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("this system does not let us mount a small file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    yield from mounted(tmp_path / "small", "size=400k")


def fill(store: Store, count: int, start: int = 0) -> None:
    for seed in range(start, start + count):
        run = tiny(seed=seed)
        store.claim([run], "me")
        store.finish(run, "me", result_of(run, curve=[seed / 7] * 1000))


def test_a_full_disk_is_one_line_and_loses_no_record(small_disk: Path) -> None:
    path = small_disk / "s.sqlite"
    with Store(path) as store:
        with pytest.raises(StoreError, match="disk is full; make room") as caught:
            fill(store, 1000)
        kept = store.records()
    assert "\n" not in str(caught.value)
    assert [record.seed for record in kept] == list(range(len(kept)))
    assert len(kept) > 3
    assert read_records(path) == kept


def test_a_campaign_on_a_full_disk_ends_in_one_line_and_goes_on_when_there_is_room(
    home: Path, small_disk: Path
) -> None:
    store = small_disk / "s.sqlite"
    arguments = (*GRID, "--executor", "serial", "--store", store)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(200_000))
    with pytest.raises(StoreError, match="disk is full; make room"):
        invoke(*arguments)
    before = read_records(store)
    assert len(before) < 24
    ballast.unlink()
    invoke(*arguments, "--seeds", "0")
    after = read_records(store)
    assert len(after) >= max(len(before), 6)
    assert all(record in after for record in before)


def test_a_limit_of_the_file_is_met_like_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def limited(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*arguments, **options)
        db.execute("PRAGMA max_page_count = 30")
        return db

    path = tmp_path / "s.sqlite"
    monkeypatch.setattr(sqlite3, "connect", limited)
    with Store(path) as store:
        fill(store, 2)
        with pytest.raises(StoreError, match="disk is full"):
            fill(store, 20, start=2)
        kept = len(store.records())
    assert len(read_records(path)) == kept >= 2


def test_a_store_on_a_read_only_disk_can_be_read_and_says_so_when_written(
    home: Path, tmp_path: Path
) -> None:
    for disk in mounted(tmp_path / "disk", "size=4m"):
        with Store(disk / "s.sqlite") as store:
            fill(store, 3)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert len(read_records(disk / "s.sqlite")) == 3
        with pytest.raises(StoreError, match=r"cannot open the store .*read-only; .*--store"):
            invoke(*GRID, "--store", disk / "s.sqlite")
        assert "sffa" in invoke("study", "show", disk / "s.sqlite")
        with pytest.raises(StudyError, match=r"cannot write .*Read-only"):
            export_csv(disk / "x.csv", [])


@pytest.mark.parametrize("folder", ["/proc/absent", "/dev/null/x"])
def test_a_folder_that_cannot_be_written_is_one_line(folder: str, tmp_path: Path) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("needs a /proc, where nobody can make files")
    with pytest.raises(StoreError, match=r"cannot open the store .*--store") as caught:
        Store(f"{folder}/s.sqlite")
    assert "\n" not in str(caught.value)
    with pytest.raises(StudyError, match="cannot write"):
        export_csv(f"{folder}/s.csv", [])


def test_a_folder_without_permission_is_one_line(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; the mounts above show the same")
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="--store"):
        Store(tmp_path / "s.sqlite")


def test_a_folder_in_place_of_the_store_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="--store"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="no store at"):
        Store(tmp_path / "absent.sqlite", readonly=True)


def test_a_damaged_store_is_reported_and_the_study_goes_on(home: Path) -> None:
    with Store("s.sqlite") as store:
        fill(store, 2)
    content = bytearray((home / "s.sqlite").read_bytes())
    content[100:4096] = b"noise" * 799 + b"!"
    (home / "s.sqlite").write_bytes(content)
    arguments = (*GRID, "--seeds", "0", "--scenarios", "static", "--executor", "serial")
    said = invoke(*arguments, "--store", "s.sqlite")
    assert "could not be trusted" in said.splitlines()[0]
    assert "2 of 2 runs done" in said
    assert len(list(home.glob("s.set-aside-*.sqlite"))) == 1


def test_a_csv_of_another_version_stops_the_import_and_changes_nothing(home: Path) -> None:
    with Store("s.sqlite") as store:
        fill(store, 2)
        export_csv("r.csv", store.records())
    text = (home / "r.csv").read_text().replace(",0.1.0,2,", ",7.0,3,")
    (home / "r.csv").write_text(text)
    with pytest.raises(StudyError, match=r"r\.csv, line 2: format 3 \(written by sffa 7\.0\)"):
        invoke("study", "import", "r.csv", "new.sqlite")
    assert not (home / "new.sqlite").exists()
    assert (home / "r.csv").read_text() == text
