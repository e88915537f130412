"""The fuzz driver finds what it is there to find, and finds nothing in what reads data."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import faults
from fuzz.driver import fuzz
from fuzz.surface import OURS, generator, surface

ROOT = Path(__file__).parents[1]
PLANTED = """
import os, time, warnings
from pathlib import Path
from fuzz.surface import Surface
from sffa.errors import DataError

def read(case):
    number, folder = case
    if number == 0:
        raise DataError("one line")
    if number == 1:
        raise ValueError("not ours")
    if number == 2:
        bytearray(2 << 30)
    if number == 3:
        (folder.parent / "touched").touch()
    if number == 4:
        os._exit(3)
    if number == 5:
        warnings.warn("careless")
    if number == 6:
        raise DataError("long " * 2000)
    if number == 7:
        try:
            time.sleep(60)
        except Exception:
            pass
    (folder / "inside").touch()

def make(rng, folder):
    number = int(folder.name) if folder.name.isdigit() else -1
    return number, folder

SURFACE = Surface(make, read)
"""


def test_every_kind_of_finding_is_found(tmp_path: Path, monkeypatch):
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "surface.py").write_text(PLANTED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    counts = fuzz("planted.surface", range(10), seed=0)
    assert (counts.cases, counts.accepted, counts.refused) == (10, 2, 1)
    found = dict(counts.findings)
    for number, what in {
        1: "ValueError: not ours",
        2: "MemoryError",
        3: "touched open",
        4: "ended the process (3)",
        5: "UserWarning: careless",
        6: "not one short line",
        7: "OvertimeError",
    }.items():
        assert what in found[number]


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_damaged_data_is_refused_in_one_line_or_read(name: str):
    counts = fuzz(name, range(60), seed=1)
    assert counts.findings == []
    assert counts.cases == 60
    assert counts.refused > (0 if name == "store" else 10)  # a store is mended, not refused


@pytest.mark.parametrize("name", ["idx", "npz", "archives"])
def test_the_same_seed_makes_the_same_cases(name: str, tmp_path: Path):
    made = []
    for place in ("a", "b"):
        folder = tmp_path / place
        folder.mkdir()
        surface(name).make(generator(name, 0, 5), folder)
        made.append({path.name: path.stat().st_size for path in folder.iterdir()})
    assert made[0] == made[1]


PYTHONS = [name for name, known in faults.OPERATIONS.items() if known.faults is faults.Faults]


@pytest.mark.parametrize("name", PYTHONS)
def test_whatever_fails_the_old_file_is_whole_or_the_new_one_is(name: str):
    tried, findings = faults.try_out(name)
    assert tried >= 9
    assert findings == []


def test_a_careless_writer_is_found(monkeypatch):
    def careless(path: Path, version: int) -> None:
        path.write_text(f"version {version}" * 100)

    monkeypatch.setitem(faults.OPERATIONS, "careless", faults.Operation(careless))
    _, findings = faults.try_out("careless")
    assert any("neither the old one nor the new one" in what for what in findings)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler, to let SQLite's calls fail")
def test_whatever_fails_under_sqlite_and_safetensors_the_old_records_are_there_or_the_new():
    chosen = [name for name in faults.OPERATIONS if name not in PYTHONS]
    options = [part for name in chosen for part in ("--operation", name)]
    found = subprocess.run(
        [sys.executable, "-m", "fuzz.faults", *options], capture_output=True, text=True, cwd=ROOT
    )
    assert found.returncode == 0, found.stdout + found.stderr
    rows = re.findall(r"\| (.+, natively) \| (\d+) \| 0 \|", found.stdout)
    assert [name for name, _ in rows] == chosen
    assert all(int(tried) >= 6 for _, tried in rows)


def with_one_thread(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python as a process of its own, in the folder of the sources."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_commands_that_are_killed_leave_what_undisturbed_ones_do():
    names = ("train", "continual", "reproduce, serial", "reproduce, local")
    options = [part for name in names for part in ("--command", name)]
    writers = ("--writers", "4", "--each", "50")
    found = with_one_thread("-m", "fuzz.kills", "--kills", "5", *writers, *options)
    assert found.returncode == 0, found.stdout + found.stderr
    rows = re.findall(r"\| (.+) \| (\d+) \| (\d+) \| 0 \|", found.stdout)
    assert [row[0] for row in rows] == ["4 writers of 50", *names]
    assert all(int(killed) == 5 for _, killed, _ in rows[1:])


CARELESS = """
import sys
from pathlib import Path
from fuzz import kills

usual = kills.COMMANDS["continual"]

def begun():
    with Path("starts").open("a") as file:
        file.write("x")
    return usual.arguments()

kills.COMMANDS["careless"] = kills.Command(begun, 0.3, lambda: Path("starts").read_text())
sys.argv[1:] = ["--command", "careless", "--kills", "2"]
sys.exit(kills.main())
"""


@pytest.mark.slow
def test_a_command_that_leaves_something_else_after_a_kill_is_found():
    found = with_one_thread("-c", CARELESS)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "round 1: another result" in found.stdout
