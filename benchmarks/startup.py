"""What it costs to start: the command, the import, and the first step of a process.

Every figure is the median of fresh processes. Processor time, user and system together, is what a
busy machine changes least; seconds by the clock stand beside it. The first step is measured
against the second one of the same process: with numba's cache empty, and with it filled. The
processor time of a process that compiles beside it is counted too.

python benchmarks/startup.py --out results/startup.json
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sffa.environment import describe
from sffa.files import write_text

STEP = """
import json, resource, threading, time
import torch, sffa
def clock():
    return time.process_time(), time.perf_counter()
def step():
    before = clock()
    trainer.step(x, y)
    return [after - one for after, one in zip(clock(), before)]
x, y = torch.rand(32, 64), torch.arange(32) % 10
trainer = sffa.Trainer(sffa.Network(64, (400, 400), classes=range(10)))
taken = [step(), step()]
from sffa.kernels.loops import BESIDE
for thread in threading.enumerate():
    if thread.name == BESIDE:
        thread.join()
beside = resource.getrusage(resource.RUSAGE_CHILDREN)
taken[0][0] += beside.ru_utime + beside.ru_stime
print(json.dumps(taken))
"""
COMMANDS: dict[str, list[str]] = {
    "python": ["-c", "pass"],
    "sffa --help": ["-m", "sffa", "--help"],
    "import torch": ["-c", "import torch"],
    "import sffa": ["-c", "import sffa"],
    "import torch, sffa": ["-c", "import torch, sffa"],
    "sffa.Network": ["-c", "import torch, sffa; sffa.Network, sffa.Trainer"],
}


def run(given: list[str], **environment: str) -> tuple[float, float, str]:
    """Return processor time, seconds and output of a process."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *given],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, seconds, done.stdout


def first_steps(rounds: int) -> dict[str, dict[str, float]]:
    """Return what the first step costs over the second, with an empty and a full cache."""
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for state in ("empty", "warm"):
                lost = json.loads(run(["-c", STEP], NUMBA_CACHE_DIR=cache)[2])
                kept = found.setdefault(state, {"processor": [], "seconds": []})
                for place, name in enumerate(kept):
                    kept[name].append(lost[0][place] - lost[1][place])
    return {
        state: {name: statistics.median(values) for name, values in each.items()}
        for state, each in found.items()
    }


def main() -> None:
    """Measure everything, print it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(asked.rounds):  # one of each in turn, so that a slow moment is shared
        for name, given in COMMANDS.items():
            taken[name].append(run(given)[:2])
    rows: dict[str, Any] = {
        name: {
            "processor": statistics.median(each[0] for each in values),
            "seconds": statistics.median(each[1] for each in values),
        }
        for name, values in taken.items()
    }
    for state, lost in first_steps(max(1, asked.rounds // 2)).items():
        rows[f"first step, {state} cache"] = lost
    for name, row in rows.items():
        print(f"{name:26} {row['processor']:6.2f} s of processor, {row['seconds']:6.2f} s")
    for name in ("sffa", "torch, sffa"):
        over = rows[f"import {name}"]["processor"] - rows["import torch"]["processor"]
        print(f"import {name} over import torch: {over:+.2f} s of processor")
    if asked.out is not None:
        found = {"rounds": asked.rounds, "load_before": load, "rows": rows}
        write_text(asked.out, json.dumps({**found, "environment": describe()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
