"""Compilation is announced, in Python too, and shared with another process."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sffa.environment import cores
from sffa.kernels import compiled_loss, loops

CODE = """
import numpy as np
from numba import njit

@njit
def of_the_user(x):
    return x + 1

of_the_user(1)
print("compiled without us")
from sffa.kernels.compiled_loss import find_right
right = np.zeros(1, np.int64)
find_right(np.zeros((1, 1), np.int32), right.copy(), np.empty(0, np.float32), right)
"""


def test_an_empty_cache_is_announced_once_and_a_full_one_not(tmp_path: Path) -> None:
    """The program asks for one loop; what else comes into the cache, another process put there."""
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-u", "-c", CODE],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "2"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        said.append(done.stdout.splitlines())
    first, second = said
    assert first[0] == "compiled without us"
    assert [line for line in first if "compiling loops" in line] == first[1:2]
    assert second == ["compiled without us"]
    until = time.monotonic() + 120
    while cores() > 1 and not list(tmp_path.rglob("tasks._adam-*.nbi")):
        assert time.monotonic() < until, "nobody compiled the optimiser"
        time.sleep(0.1)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the programs that the first compilation starts, none of which is run."""
    programs: list[list[str]] = []

    def keep(program: list[str], **_: Any) -> None:
        programs.append(program)
        raise OSError("no process to be had")

    monkeypatch.setattr(subprocess, "run", keep)
    monkeypatch.setattr(loops.first_compilation, "heard", False)
    monkeypatch.setattr(loops, "kept_on_disk", True)
    monkeypatch.setattr(loops, "cores", lambda: 2)
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    return programs


def compile_something() -> None:
    before = {*threading.enumerate()}
    function = SimpleNamespace(py_func=compiled_loss.find_right.py_func)
    loops.first_compilation.on_start(SimpleNamespace(data={"dispatcher": function}))
    for thread in {*threading.enumerate()} - before:
        thread.join()


def test_the_other_process_is_started_once_and_may_fail(
    started: list[list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "sffa"):
        compile_something()
        compile_something()
    assert [program[:3] for program in started] == [["/usr/bin/python3", "-P", "-c"]]
    assert [record.message[:15] for record in caplog.records] == ["compiling loops"]


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (sys, "executable", None),
        (sys, "executable", "/opt/app/program"),
        (sys, "frozen", True),
        (loops, "kept_on_disk", False),
        (loops, "cores", lambda: 1),
    ],
)
def test_no_process_is_started_where_it_is_of_no_use(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, place: Any, name: str, value: Any
) -> None:
    monkeypatch.setattr(place, name, value, raising=False)
    compile_something()
    assert not started


def test_workers_of_one_thread_start_no_process(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    compile_something()
    assert not started
