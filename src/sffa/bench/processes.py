"""A measurement in a process of its own, so that nothing measured before it is in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from typing import Any

from sffa.bench.shape import Shape
from sffa.errors import ConfigurationError


def in_a_process(module: str, name: str, shape: Shape, **order: Any) -> Any:
    """Run a module of `sffa.bench` with an order to measure; return what it prints, as JSON."""
    text = json.dumps({"name": name, "shape": asdict(shape), **order})
    done = subprocess.run(
        [sys.executable, "-m", module, text],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise ConfigurationError(f"measuring '{name}' failed: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)
