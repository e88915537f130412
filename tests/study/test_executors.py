from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from tests.study.conftest import tiny

from sffa.errors import ConfigurationError
from sffa.study import Campaign, Progress, Store, StudyError, make_executor
from sffa.study.executors.local import Local
from sffa.study.threads import layout


def test_a_worker_that_is_killed_is_replaced_and_its_run_done_again(tmp_path: Path) -> None:
    runs = [tiny(seed=seed) for seed in range(3)]
    executor = Local(workers=1, threads=1)
    killed: list[int] = []

    def kill_once(progress: Progress) -> None:
        busy = [worker for worker in executor._crew if worker.run is not None]
        if busy and not killed:
            pid = busy[0].process.pid
            assert pid is not None
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    with Store(tmp_path / "s.sqlite") as store:
        progress = Campaign(store, runs, executor, on_change=kill_once).go()
        assert (progress.done, progress.failed) == (3, 0)
        assert [record.attempts for record in store.records()] == [2, 1, 1]
        died = store._db.execute("SELECT detail FROM events WHERE event = 'failed'").fetchall()
    assert died == [("WorkerDied: the worker process died of SIGKILL",)]
    assert not psutil.pid_exists(killed[0])


def test_a_run_that_cannot_work_is_failed_after_three_tries_and_the_others_are_done(
    tmp_path: Path,
) -> None:
    bad = tiny(dataset=str(tmp_path / "absent.npz"))
    with Store(tmp_path / "s.sqlite") as store:
        for executor in ("serial", "local"):
            runs = [bad, tiny(seed=5)]
            store.retry_failed(runs)
            hands = make_executor(executor, workers=2 if executor == "local" else None, threads=1)
            progress = Campaign(store, runs, hands).go()
            assert (progress.done, progress.failed) == (1, 1)
            (failed,) = (record for record in store.records() if record.status == "failed")
            assert failed.error is not None
            assert failed.error.startswith("DataError:")
            assert "absent.npz" in failed.error


def test_workers_have_the_threads_they_are_told_and_end_with_the_executor(tmp_path: Path) -> None:
    executor = Local(workers=1, threads=1)
    with Store(tmp_path / "s.sqlite") as store:
        Campaign(store, [tiny()], executor).go()
        (record,) = store.records()
    assert record.environment["threads"] == 1
    assert executor._crew == []
    limit = time.monotonic() + 10
    while any("spawn_main" in " ".join(child.cmdline()) for child in psutil.Process().children()):
        assert time.monotonic() < limit
        time.sleep(0.1)


@pytest.mark.parametrize("cores", [1, 2, 3, 8, 64])
def test_cores_are_never_oversubscribed_by_default(cores: int) -> None:
    for workers, threads in ((None, None), (1, None), (None, 1), (None, 2)):
        chosen = layout(workers, threads, cores)
        assert chosen.workers >= 1
        assert chosen.threads >= 1
        assert chosen.workers * chosen.threads <= max(cores, threads or 1)


def test_an_unknown_executor_or_an_impossible_layout_is_one_line() -> None:
    with pytest.raises(ConfigurationError, match="unknown executor 'locale'; did you mean 'local'"):
        make_executor("locale")
    with pytest.raises(ConfigurationError, match="an address is for the ray executor"):
        make_executor("local", address="here:1")
    with pytest.raises(StudyError, match="workers must be at least 1, got 0"):
        make_executor("local", workers=0)
