from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.conftest import heed_interrupts
from typer.testing import CliRunner

from sffa.study import Record, Run, parse, read_records

ROOT = Path(__file__).parents[2]
COMMAND = Path(__file__).with_name("command.py")

# 24 runs of some tenths of a second: static and continual, two algorithms, four seeds.
GRID = (
    *("reproduce", "quick", "--algorithms", "bp,sffa", "--seeds", "0-3"),
    *("--set", "backend=torch", "--threads", "1"),
)
SIZE = 24

TINY: dict[str, Any] = {
    "scenario": "static",
    "dataset": "digits",
    "algorithm": "sffa",
    "epochs": 2,
    "batch_size": 256,
    "lr": 1e-3,
    "hidden": [40],
    "network": {"k": 5},
    "holdout": 200,
    "backend": "torch",
}


def tiny(**changes: Any) -> Run:
    return parse({**TINY, **changes})


def result_of(run: Run, **changes: Any) -> Record:
    """Make up what a run might have come to; ``changes`` are those of its JSON form."""
    dataset, scenario, method, algorithm = run.cell
    made = {
        "dataset": dataset,
        "scenario": scenario,
        "method": method,
        "algorithm": algorithm,
        "seed": run.key.seed,
        "config": run.values,
        "metrics": {"acc": 100 / 3, "best": 0.1 + 0.2, "last": 12.5, "val_selected": 100 / 3},
        "curve": [{"epoch": 1, "loss": 1 / 7, "seconds": 0.1}],
        "environment": {"version": "0.1.0", "threads": 1},
        "seconds": 1 / 3,
        "peak_memory_mb": 123.25,
        **changes,
    }
    return Record.from_json(made)


def environment() -> dict[str, str]:
    paths = [str(ROOT / "src"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    path = os.pathsep.join(part for part in paths if part)
    quiet = {"NO_COLOR": "1", "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    return {**os.environ, "PYTHONPATH": path, **quiet}


def begin(*arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
    """Start the command in a process of its own, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, str(COMMAND), *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )


def complete(*arguments: str | Path, cwd: Path, timeout: float = 240) -> tuple[int, str]:
    """Run the command to its end; give its exit code and all it said."""
    process = begin(*arguments, cwd=cwd)
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, said


def outcomes(path: Path) -> list[dict[str, Any]]:
    return [record.outcome() for record in read_records(path)]


def invoke(*arguments: str | Path) -> str:
    """Run the command in this process and give all it said; errors come out as they are."""
    from tests.study.command import application

    result = CliRunner().invoke(application(), [str(argument) for argument in arguments])
    if result.exception is not None:
        result.exception.add_note(result.output)
        raise result.exception
    return result.output


def said_before(error: pytest.ExceptionInfo[BaseException]) -> str:
    """Return what the command had said when it raised."""
    return "".join(error.value.__notes__)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Return an empty folder to be in, and put back what runs in this process change."""
    monkeypatch.chdir(tmp_path)
    threads = torch.get_num_threads()
    yield tmp_path
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Return the records of the 24-run grid when nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    code, said = complete(*GRID, "--executor", "serial", "--store", "s.sqlite", cwd=folder)
    assert code == 0, said
    records = read_records(folder / "s.sqlite")
    assert len(records) == SIZE
    return records


@pytest.fixture
def expected(undisturbed: list[Record]) -> list[dict[str, Any]]:
    return [record.outcome() for record in undisturbed]
