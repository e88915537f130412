"""Compilation is announced, in Python too, and shared with another process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from sffa.environment import cores

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
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
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
