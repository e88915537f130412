"""Runs the cases of a surface in processes with limits, and counts what came of them."""

from __future__ import annotations

import json
import math
import os
import select
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

BATCH = 5000
SILENCE = 30.0
"""Seconds after which a process that says nothing is ended: a hang that no signal ends."""


@dataclass
class Counts:
    """What came of the cases of one surface."""

    surface: str
    cases: int = 0
    accepted: int = 0
    refused: int = 0
    findings: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, outcome: str, what: str) -> None:
        """Count one case."""
        self.cases += 1
        if outcome == "finding":
            self.findings.append((number, what))
        else:
            setattr(self, outcome, getattr(self, outcome) + 1)


def fuzz(name: str, cases: range, seed: int, seconds: float | None = None) -> Counts:
    """Try ``cases`` of a surface; stop before the end after ``seconds`` of trying."""
    counts = Counts(name)
    left = math.inf if seconds is None else seconds
    start = cases.start
    while start < cases.stop and left > 0:
        numbers = range(start, min(start + BATCH, cases.stop))
        start, spent = _batch(counts, numbers, seed, left)
        left -= spent
    return counts


def _batch(counts: Counts, numbers: range, seed: int, seconds: float) -> tuple[int, float]:
    """Run one process; return the number of the case to go on with, and the seconds it tried."""
    command = [sys.executable, "-m", "fuzz.worker", counts.surface, str(seed)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, str(numbers.start), str(numbers.stop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    running, nearly = numbers.start, b""
    started, ended = False, "ended the process"
    began = time.monotonic()  # of the first case: what is imported before it is not counted
    while True:
        if started and time.monotonic() - began > seconds:
            process.kill()
            process.communicate()
            return numbers.stop, seconds
        ready, _, _ = select.select([process.stdout], [], [], SILENCE if started else 120.0)
        part = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
        if not part:
            ended = ended if ready else f"said nothing for {SILENCE:.0f} s"
            break
        *lines, nearly = (nearly + part).split(b"\n")
        for line in lines:
            if line.startswith(b"start "):
                began = began if started else time.monotonic()
                running, started = int(line[6:]), True
            elif line:
                counts.add(*json.loads(line))
                running += 1
    process.kill()
    told = process.communicate()[1].decode(errors="replace").strip().splitlines()
    spent = time.monotonic() - began
    if running >= numbers.stop:
        return numbers.stop, spent
    if not started:
        raise RuntimeError(f"{counts.surface}: the process did not start: {told[-1:]}")
    counts.add(running, "finding", f"{ended} ({process.returncode}) {' '.join(told[-1:])}")
    return running + 1, spent
