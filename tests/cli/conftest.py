"""Running the command line inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from sffa.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def sffa(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run ``sffa ...`` in an empty folder and give exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(int(leaving.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def model(sffa: Run) -> Path:
    """Train a small network for one epoch on digits."""
    done = sffa("train", "--hidden", "40,40", "--set", "k=5", "--epochs", 1, "--batch-size", 256)
    assert done.code == 0, done.err
    return Path("model.safetensors")
