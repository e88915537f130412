"""The 24-run grid under kills, interrupts and competition: same records, nothing left behind."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.study.conftest import GRID, SIZE, begin, complete, environment, invoke, outcomes

from sffa.study import Record, read_records

pytestmark = pytest.mark.slow
KILLS = 20


def events(path: Path) -> list[tuple[str, int, str, str]]:
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT config_hash, seed, event, owner FROM events").fetchall()
    finally:
        db.close()


def count(path: Path, what: str) -> int:
    """Count rows of a store that others are writing to; a store that is not there yet has none."""
    if not path.exists():
        return 0
    db = sqlite3.connect(path, timeout=30)
    try:
        return int(db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        db.close()


def kill_with_workers_watched(process: subprocess.Popen[str]) -> None:
    """Kill the driver with SIGKILL and see its workers follow it."""
    try:
        family = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        family = []
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert not alive, "a worker outlived its driver"


def strike(process: subprocess.Popen[str], store: Path, rng: random.Random, kill: int) -> bool:
    """Wait for a random moment and kill; give whether there was somebody to kill.

    One kill in five comes anywhere from the start on, one soon after a claim, three soon after a
    run or two were done. A grid that would be over before its last kill is struck sooner.
    """
    claimed, done = "events WHERE event = 'claimed'", "runs WHERE status = 'done'"
    claims, records = count(store, claimed), count(store, done)
    enough = min(SIZE - 3, 1 + SIZE * (kill + 1) // KILLS)
    mode = ("start", "claim", "done", "done", "done")[kill % 5]
    more = rng.randint(1, 2)

    def going_on() -> bool:
        return process.poll() is None and count(store, done) < enough

    while going_on() and (
        (mode == "claim" and count(store, claimed) == claims)
        or (mode == "done" and count(store, done) < records + more)
    ):
        time.sleep(0.02)
    moment = time.monotonic() + rng.uniform(0, 4 if mode == "start" else 0.8)
    while going_on() and time.monotonic() < moment:
        time.sleep(0.02)
    alive = process.poll() is None
    kill_with_workers_watched(process)
    return alive


@pytest.mark.timeout(900)
def test_twenty_kills_at_random_moments_change_nothing(
    tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    """Item 1. Every other restart is serial."""
    rng = random.Random(time.time_ns())
    store = tmp_path / "s.sqlite"
    struck = []
    for kill in range(KILLS):
        executor = ("local", "serial")[kill % 2]
        process = begin(*GRID, "--executor", executor, "--store", store, cwd=tmp_path)
        struck.append(strike(process, store, rng, kill))
        process.stdout.close()  # type: ignore[union-attr]
    assert all(struck)
    assert count(store, "runs WHERE status = 'done'") >= KILLS // 2
    code, said = complete(*GRID, "--store", store, cwd=tmp_path)
    assert code == 0, said
    assert f"{SIZE} of {SIZE} runs done" in said

    assert outcomes(store) == expected
    journal = events(store)
    completed = Counter((h, s) for h, s, event, _ in journal if event == "done")
    assert len(completed) == SIZE
    assert set(completed.values()) == {1}
    abandoned = sum(event == "abandoned" for _, _, event, _ in journal)
    assert abandoned >= 5, "hardly any kill met a run in flight: nothing was shown"
    assert count(store, "runs WHERE owner IS NOT NULL OR lease IS NOT NULL") == 0
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]


@pytest.mark.timeout(600)
def test_two_grids_at_once_compute_each_run_once(
    tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    """Item 3. The runs themselves note that they were begun, beside what the journal says."""
    store, log = tmp_path / "s.sqlite", tmp_path / "log"
    arguments = (*GRID, "--executor", "serial", "--store", str(store))
    program = Path(__file__).with_name("counting.py")
    pair = [
        subprocess.Popen(
            [sys.executable, str(program), *arguments],
            cwd=tmp_path,
            env={**environment(), "RUN_LOG": str(log)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=300)[0] for process in pair]
    assert [process.returncode for process in pair] == [0, 0], said
    assert outcomes(store) == expected
    begun = Counter(line.split()[1] for line in log.read_text().splitlines())
    assert len(begun) == SIZE
    assert set(begun.values()) == {1}
    journal = Counter(event for _, _, event, _ in events(store))
    assert journal == {"claimed": SIZE, "done": SIZE}
    workers = {line.split()[0] for line in log.read_text().splitlines()}
    assert len(workers) == 2, "one process did everything: nothing was shown"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_gives_claims_back_and_the_same_command_goes_on(
    tmp_path: Path, undisturbed: list[Record], how: signal.Signals
) -> None:
    store = tmp_path / "s.sqlite"
    process = begin(*GRID, "--executor", "local", "--workers", "2", "--store", store, cwd=tmp_path)
    while count(store, "runs WHERE status = 'done'") < 3:
        assert process.poll() is None
        time.sleep(0.02)
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: to the whole group
    else:
        process.send_signal(how)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command goes on from here" in said
    assert "Traceback" not in said
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]
    assert count(store, "runs WHERE owner IS NOT NULL") == 0
    begun = count(store, "events WHERE event = 'claimed'")
    done = read_records(store)
    assert begun - len(done) <= 2
    known = {record.key: record.outcome() for record in undisturbed}
    assert all(record.outcome() == known[record.key] for record in done)


@pytest.mark.timeout(300)
def test_processes_of_this_machine_give_the_records_of_one(
    tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    store, table = tmp_path / "s.sqlite", tmp_path / "out" / "q.csv"
    arguments = (*GRID, "--seeds", "0", "--executor", "local", "--workers", "2", "--store", store)
    code, said = complete(*arguments, "--export", table, cwd=tmp_path)
    assert code == 0, said
    firsts = [one for one in expected if one["parts"][1] == 0]
    assert len(firsts) == SIZE // 4
    assert outcomes(store) == firsts
    assert outcomes(table) == firsts
    invoke(*arguments)
    assert count(store, "events WHERE event = 'claimed'") == len(firsts)
