"""Compilation is announced, in Python too, and only where there is any."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
