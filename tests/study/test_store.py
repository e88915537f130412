from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.study.conftest import result_of, tiny

from sffa.study import Run, Store, StoreError
from sffa.study.store.owner import is_gone, new_owner


@pytest.fixture
def runs() -> list[Run]:
    return [tiny(seed=seed) for seed in range(4)]


def test_runs_are_claimed_in_order_and_once(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        me, other = new_owner(), new_owner()
        taken = [store.claim(runs, who) for who in (me, other, me, other, me)]
    assert taken == [*runs, None]


def test_many_threads_with_connections_of_their_own_never_share_a_run(tmp_path: Path) -> None:
    wanted = [tiny(seed=seed) for seed in range(40)]
    taken: Counter[int] = Counter()

    def claim_all() -> None:
        with Store(tmp_path / "s.sqlite") as store:
            while run := store.claim(wanted, new_owner()):
                taken[run.key.seed] += 1

    threads = [threading.Thread(target=claim_all) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == Counter(range(40))


def test_a_lease_that_is_over_frees_the_run(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        first, second = new_owner(), new_owner()
        assert store.claim(runs[:1], first, lease=0.2) == runs[0]
        time.sleep(0.3)
        assert store.claim(runs[:1], second) == runs[0]


def test_a_claim_of_a_process_that_is_gone_is_free_at_once(tmp_path: Path, runs: list[Run]) -> None:
    process = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    place = new_owner().partition("|")[0]
    gone = f"{place}|{int(process.stdout)}|0"
    elsewhere = f"another-machine|{int(process.stdout)}|0"
    assert is_gone(gone)
    assert not is_gone(elsewhere)
    assert not is_gone(new_owner())
    with Store(tmp_path / "s.sqlite") as store:
        store.claim(runs[:1], gone)
        assert store.claim(runs[:1], new_owner()) == runs[0]
        store.claim(runs[:2], elsewhere)
        assert store.claim(runs[:2], new_owner()) is None


def test_a_record_that_comes_after_the_claim_was_lost_is_not_kept_twice(
    tmp_path: Path, runs: list[Run]
) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        slow, quick = new_owner(), new_owner()
        store.claim(runs[:1], slow, lease=-1)
        assert store.claim(runs[:1], quick) == runs[0]
        assert store.finish(runs[0], quick, result_of(runs[0])) is True
        assert store.finish(runs[0], slow, result_of(runs[0], seconds=9.0)) is False
        assert [record.seconds for record in store.records()] == [1 / 3]
        assert store.claim(runs[:1], slow) is None


def test_a_run_is_failed_after_three_failures_and_tried_again_when_asked(
    tmp_path: Path, runs: list[Run]
) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        me = new_owner()
        for attempt in (1, 2, 3):
            assert store.claim(runs[:1], me) == runs[0]
            over = store.fail(runs[0], me, f"Error: number {attempt}", "in full")
            assert over is (attempt == 3)
        assert store.claim(runs[:1], me) is None
        (record,) = store.records()
        assert (record.status, record.error, record.attempts) == ("failed", "Error: number 3", 3)
        assert store.retry_failed(runs) == 1
        assert store.claim(runs[:1], me) == runs[0]
        store.finish(runs[0], me, result_of(runs[0]))
        assert [r.status for r in store.records()] == ["done"]


def test_released_claims_are_free_and_leave_no_owner(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        me = new_owner()
        store.claim(runs, me)
        store.claim(runs, me)
        assert store.release(me) == 2
        assert set(store.statuses().values()) == {"waiting"}
        assert store.claim(runs, new_owner()) == runs[0]


def test_records_read_back_as_they_were_and_nothing_else_is_left_in_the_folder(
    tmp_path: Path, runs: list[Run]
) -> None:
    path = tmp_path / "deep" / "s.sqlite"
    with Store(path) as store:
        me = new_owner()
        for run in runs:
            store.claim(runs, me)
            store.finish(run, me, result_of(run))
        kept = store.records()
    with Store(path, readonly=True) as store:
        assert store.records() == kept
        assert store.records(runs[:1]) == kept[:1]
        with pytest.raises(StoreError, match="read-only"):
            store.release("me")
    assert [record.metrics for record in kept] == [result_of(run).metrics for run in runs]
    assert [file.name for file in path.parent.iterdir()] == ["s.sqlite"]


def test_a_record_of_another_configuration_is_refused(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.claim(runs, "me")
        with pytest.raises(StoreError, match="another configuration or seed"):
            store.finish(runs[0], "me", result_of(runs[1]))
        assert store.records() == []


def test_records_from_elsewhere_fill_gaps_and_replace_nothing_done(
    tmp_path: Path, runs: list[Run]
) -> None:
    with Store(tmp_path / "a.sqlite") as ours, Store(tmp_path / "b.sqlite") as theirs:
        for store, seconds, count in ((ours, 1.0, 1), (theirs, 2.0, 2)):
            for run in runs[:count]:
                store.claim([run], "me")
                store.finish(run, "me", result_of(run, seconds=seconds))
        assert ours.add(theirs.records()) == 1
        assert [record.seconds for record in ours.records()] == [1.0, 2.0]
        assert ours.add(theirs.records()) == 0


def test_the_journal_tells_what_happened_to_a_run(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.claim(runs[:1], "a", lease=-1)
        store.claim(runs[:1], "b")
        store.fail(runs[0], "b", "no", "a traceback")
        store.claim(runs[:1], "c")
        store.finish(runs[0], "c", result_of(runs[0]))
    db = sqlite3.connect(tmp_path / "s.sqlite")
    events = db.execute("SELECT event, owner FROM events ORDER BY number").fetchall()
    db.close()
    assert events == [
        *[("claimed", "a"), ("abandoned", "a"), ("claimed", "b"), ("failed", "b")],
        *[("claimed", "c"), ("done", "c")],
    ]
