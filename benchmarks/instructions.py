"""How many instructions a training step takes: a guard against what makes small steps slower.

Seconds are noisy where others work beside, instructions are not. Callgrind counts them on one
thread, for a processor of one kind, so that the counts hold elsewhere too. Each size takes about a
minute:

python benchmarks/instructions.py            # compares with benchmarks/instructions.json
python benchmarks/instructions.py --update   # writes it anew
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from sffa.bench.alone import SIZES
from sffa.bench.shape import Shape
from sffa.files import write_text

COUNTS = Path(__file__).with_suffix(".json")
MEASURED = {
    "sffa 4-100-100": ("sffa", SIZES[0]),
    "sffa 64-400-400": ("sffa", SIZES[1]),
    "ffa 4-100-100": ("ffa", SIZES[0]),
}
TOLERANCE = 0.05
STEPS = 10
_PROCESSOR = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""}


def count(name: str, shape: Shape, folder: Path) -> int:
    """Return the instructions of a step, from a run of its own."""
    given = json.dumps([name, asdict(shape)])
    environment = {**os.environ, **_PROCESSOR, "NUMBA_CACHE_DIR": str(folder / "numba")}
    environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    program = [sys.executable, __file__, "--steps", given]
    subprocess.run(program, env=environment, check=True)  # compiles the loops outside of valgrind
    kept = folder / "callgrind.out"
    valgrind = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--callgrind-out-file={kept}",
    ]
    environment["SFFA_CALLGRIND"] = "1"
    done = subprocess.run([*valgrind, *program], env=environment, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        sys.exit(f"callgrind failed: {done.stderr.strip()[-500:]}")
    return int(found[1]) // STEPS


def take_steps(name: str, shape: Shape) -> None:
    """Train a little; in callgrind, count from the third step on."""
    import torch

    from sffa.bench.contenders import CONTENDERS

    torch.set_num_threads(1)
    step = CONTENDERS[name](shape).step
    for _ in range(3):
        step()
    if "SFFA_CALLGRIND" in os.environ:
        _switch("on")
    for _ in range(STEPS):
        step()
    if "SFFA_CALLGRIND" in os.environ:
        _switch("off")


def _switch(state: str) -> None:
    """Let callgrind begin or end counting; it listens while this process works."""
    order = subprocess.Popen(
        ["callgrind_control", "-i", state, str(os.getpid())], stdout=subprocess.DEVNULL
    )
    while order.poll() is None:
        pass
    if order.returncode:
        sys.exit("callgrind_control failed")


def main() -> None:
    """Count, and compare with what was counted before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="write the counts anew")
    parser.add_argument("--steps", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.steps:
        name, shape = json.loads(asked.steps)
        take_steps(name, Shape(**shape))
        return
    if shutil.which("valgrind") is None:
        sys.exit("this needs valgrind")
    with tempfile.TemporaryDirectory() as folder:
        counts = {title: count(*given, Path(folder)) for title, given in MEASURED.items()}
    before = {} if asked.update else json.loads(COUNTS.read_text())
    slower = []
    for title, found in counts.items():
        known = before.get(title)
        then = f"{found / known:.3f} of what it was" if known else "not counted before"
        print(f"{title:20s} {found / 1e6:8.3f} million a step, {then}")
        if known and found > (1 + TOLERANCE) * known:
            slower.append(title)
    if asked.update:
        write_text(COUNTS, json.dumps(counts, indent=1) + "\n")
    if slower:
        sys.exit(f"more than {TOLERANCE:.0%} more instructions than before: {', '.join(slower)}")


if __name__ == "__main__":
    main()
