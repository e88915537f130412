from __future__ import annotations

import threading
import time
from collections import deque
from pathlib import Path

import pytest
from tests.study.conftest import result_of, tiny

from sffa.study import Campaign, Progress, Run, Store
from sffa.study.executors import Outcome


class Imagined:
    """An executor that only pretends; ``script`` says what becomes of each attempt at a seed."""

    name = "imagined"

    def __init__(self, script: dict[int, list[str]] | None = None, slots: int = 2) -> None:
        self.script = {seed: deque(fates) for seed, fates in (script or {}).items()}
        self.begun: list[int] = []
        self.under_way: list[Run] = []
        self.most = 0
        self.stopped = False
        self._slots = slots

    def slots(self) -> int:
        return self._slots

    def start(self, run: Run) -> None:
        self.begun.append(run.key.seed)
        self.under_way.append(run)
        self.most = max(self.most, len(self.under_way))

    def wait(self, seconds: float) -> list[Outcome]:
        run = self.under_way.pop(0)
        fates = self.script.get(run.key.seed)
        fate = fates.popleft() if fates else "done"
        if fate == "interrupt":
            self.under_way.insert(0, run)
            raise KeyboardInterrupt
        if fate == "done":
            return [Outcome(run, result_of(run))]
        return [Outcome(run, None, fate, f"{fate} in full")]

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def runs() -> list[Run]:
    return [tiny(seed=seed) for seed in range(6)]


def test_a_second_campaign_does_only_what_is_missing(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        Campaign(store, runs[:4], Imagined()).go()
        second = Imagined()
        progress = Campaign(store, runs, second).go()
        assert second.begun == [4, 5]
        assert (progress.done, progress.failed, progress.total) == (6, 0, 6)
        third = Imagined()
        Campaign(store, runs, third).go()
        assert third.begun == []


def test_no_more_runs_are_begun_than_there_are_slots(tmp_path: Path, runs: list[Run]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        hands = Imagined(slots=3)
        Campaign(store, runs, hands).go()
    assert hands.most == 3
    assert hands.stopped


def test_a_run_that_fails_twice_succeeds_and_one_that_fails_thrice_is_recorded(
    tmp_path: Path, runs: list[Run]
) -> None:
    script = {1: ["Boom: a", "Boom: b"], 2: ["Crash: a", "Crash: b", "Crash: c"]}
    with Store(tmp_path / "s.sqlite") as store:
        hands = Imagined(script)
        progress = Campaign(store, runs, hands).go()
        assert (progress.done, progress.failed) == (5, 1)
        assert hands.begun.count(1) == hands.begun.count(2) == 3
        (failed,) = (record for record in store.records() if record.status == "failed")
        assert (failed.seed, failed.error, failed.attempts) == (2, "Crash: c", 3)


def test_ctrl_c_loses_only_the_runs_in_flight_and_leaves_no_claim(
    tmp_path: Path, runs: list[Run]
) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        hands = Imagined({3: ["interrupt"]})
        with pytest.raises(KeyboardInterrupt):
            Campaign(store, runs, hands).go()
        assert hands.stopped
        assert [record.seed for record in store.records()] == [0, 1, 2]
        assert "running" not in store.statuses().values()
        Campaign(store, runs, Imagined()).go()
        assert len(store.records()) == 6


def test_a_long_run_keeps_its_claim_by_renewing_the_lease(tmp_path: Path, runs: list[Run]) -> None:
    path = tmp_path / "s.sqlite"
    stolen: list[Run | None] = []

    class Slow(Imagined):
        def wait(self, seconds: float) -> list[Outcome]:
            time.sleep(1.2)
            with Store(path) as other:
                stolen.append(other.claim(runs[:1], "thief|0|0"))
            return super().wait(seconds)

    with Store(path) as store:
        Campaign(store, runs[:1], Slow(), lease=0.5).go()
        assert stolen == [None]
        assert [record.attempts for record in store.records()] == [1]


def test_a_campaign_waits_for_runs_that_others_hold_and_takes_them_over_when_they_are_gone(
    tmp_path: Path, runs: list[Run]
) -> None:
    path = tmp_path / "s.sqlite"
    seen: list[int] = []

    def watch(progress: Progress) -> None:
        seen.append(progress.elsewhere)

    with Store(path) as store:
        other = "another-machine|1|0"
        store.claim(runs[:1], other, lease=1.0)
        store.claim(runs[1:2], other, lease=30.0)

        def deliver() -> None:
            with Store(path) as theirs:
                theirs.finish(runs[1], other, result_of(runs[1]))

        timer = threading.Timer(0.5, deliver)
        timer.start()
        hands = Imagined()
        Campaign(store, runs[:3], hands, on_change=watch).go()
        timer.join()
        assert hands.begun == [2, 0]
        assert max(seen) == 2
        assert len(store.records()) == 3
