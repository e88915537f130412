"""Which examples in the package's docstrings are run, and where: each in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

# Modules of the package whose examples are run only where what they wrap is installed.
WRAPPED = {
    "avalanche": "avalanche",
    "avalanche_run": "avalanche",
    "cluster": "ray",
    "mlflow": "mlflow",
    "onnx": "onnx",
    "export_modules": "onnx",
    "river": "river",
    "server": "starlette",
    "tensorboard": "tensorboard",
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules of the package that wrap something that is not installed."""
    wrapped = WRAPPED.get(collection_path.stem)
    if wrapped is None:
        return None
    if importlib.util.find_spec(wrapped) is None:
        return True
    # Avalanche makes a folder in the home when it is imported.
    return True if wrapped == "avalanche" and not os.access(Path.home(), os.W_OK) else None


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an example write files by plain names."""
    monkeypatch.chdir(tmp_path)
