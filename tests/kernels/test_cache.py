"""Compiled loops where numba can keep nothing on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

PROGRAM = """
import torch
from sffa.kernels import add_quadratic_gradient
import sffa.kernels.compiled as compiled
assert compiled.__file__.startswith({tree!r})
one = torch.ones(3)
grad = torch.zeros(3)
add_quadratic_gradient(grad, 2 * one, 3 * one, one, compiled=True)
print(grad.tolist())
"""


def test_without_a_place_for_a_cache_the_loops_are_compiled_all_the_same(tmp_path: Path) -> None:
    """A file in the place of each folder keeps even root from writing there."""
    tree = tmp_path / "src"
    shutil.copytree(SOURCE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "sffa" / "kernels" / "__pycache__").touch()
    nowhere = tmp_path / "nowhere"
    nowhere.touch()
    environment = dict(os.environ)
    environment.pop("NUMBA_CACHE_DIR", None)
    path = os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")])
    environment |= {"XDG_CACHE_HOME": str(nowhere), "IPYTHONDIR": str(nowhere)}
    environment |= {"HOME": str(nowhere), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(tree=str(tree))],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.stdout.strip() == "[4.0, 4.0, 4.0]", done.stderr[-2000:]
