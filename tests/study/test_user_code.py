"""Classes of the user's in studies: imported only if allowed, and their results only if current."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.study.conftest import invoke

from sffa.errors import ConfigurationError
from sffa.study import StudyError, read_study_file

CODE = """
from pathlib import Path
from sffa.continual import Strategy
Path("imported").touch()
class Shrink(Strategy):
    pass
"""
STUDY = """
name = "mine"
[base]
dataset = "split-digits"
hidden = [20]
algorithm = "bp"
epochs = 1
{how}
"""
BASE = STUDY.format(how='method = "ideas_of_mine:Shrink"')
AXES = STUDY.format(how='[axes]\nmethod = ["naive", "replay+ideas_of_mine:Shrink"]')
OVERRIDE = STUDY.format(
    how='[[overrides]]\nwhen = {algorithm = "bp"}\nset = {method = "ideas_of_mine:Shrink"}'
)
LEARNER = STUDY.replace('algorithm = "bp"', 'algorithm = "ideas_of_mine:Net"').format(how="")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "ideas_of_mine.py").write_text(CODE)
    sys.modules.pop("ideas_of_mine", None)
    return tmp_path


def reproduce(*arguments: str) -> str:
    """Run the command as a process of its own would, which has imported nothing of the user's."""
    sys.modules.pop("ideas_of_mine", None)
    return invoke("reproduce", "s.toml", *arguments)


@pytest.mark.parametrize("text", [BASE, AXES, OVERRIDE, LEARNER])
def test_a_file_imports_no_code_by_itself(place: Path, text: str) -> None:
    (place / "s.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"'ideas_of_mine:\w+'.* --allow-imports") as said:
        read_study_file("s.toml")
    assert "\n" not in str(said.value)
    assert not (place / "imported").exists()


@pytest.mark.parametrize("allowed", [True, ["ideas_of_mine:Shrink"]])
def test_a_file_imports_what_is_allowed(place: Path, allowed: bool | list[str]) -> None:
    (place / "s.toml").write_text(BASE)
    assert len(read_study_file("s.toml", allow_imports=allowed).runs()) == 1
    assert (place / "imported").exists()


def test_the_right_to_import_is_given_on_the_command_line(place: Path) -> None:
    (place / "s.toml").write_text(BASE)
    with pytest.raises(ConfigurationError, match="names the class 'ideas_of_mine:Shrink'") as said:
        reproduce("--dry-run")
    assert "\n" not in str(said.value)
    assert not (place / "imported").exists()
    named = ("--methods", "ideas_of_mine:Shrink")
    for right in (("--allow-imports",), named, ("--set", "method=ideas_of_mine:Shrink")):
        assert "1 runs, 1 missing" in reproduce("--dry-run", *right)


def test_results_of_a_class_that_was_edited_since_are_not_shown_as_current(place: Path) -> None:
    (place / "s.toml").write_text(BASE)
    study = ("--allow-imports", "--executor", "serial", "--threads", "1")
    reproduce(*study)
    reproduce(*study)
    (place / "ideas_of_mine.py").write_text(CODE + "    changed = True\n")
    for more in ((), ("--compare",)):
        with pytest.raises(StudyError, match="Shrink has changed since 1 of these runs"):
            reproduce(*study, *more)


@pytest.mark.parametrize(
    "text",
    ["[" * 5000, "a = " + "[" * 400 + "]" * 400, 'seeds = "0-99999999"', "x = 1"],
)
def test_a_file_that_is_no_study_is_one_line(place: Path, text: str) -> None:
    (place / "s.toml").write_text(text)
    with pytest.raises(ConfigurationError) as said:
        read_study_file("s.toml").runs()
    assert "\n" not in str(said.value)
    assert len(str(said.value)) < 600
