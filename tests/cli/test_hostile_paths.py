"""Paths that no command was made for: one line before any work is done, and nothing is lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.conftest import Run

TRAIN = ("train", "--epochs", "1", "--hidden", "40", "--set", "k=5")
STREAM = ("continual", "--dataset", "digits", "--experiences", "2", "--hidden", "40", "--quiet")


@pytest.fixture
def places(sffa: Run) -> dict[str, str]:
    """Make what stands in the way of a file, in the folder where commands run."""
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    Path("device").symlink_to("/dev/null")
    Path("folder").mkdir()
    Path("file").write_text("mine")
    return {
        "pipe": "a named pipe",
        "device": "a character device",
        "loop": "symbolic links",
        "folder": "a folder",
        "file/below": "Not a directory",
    }


def refused(sffa: Run, *arguments: object) -> str:
    """Return the one line that a command says as it gives up, having left no file."""
    before = sorted(map(str, Path.cwd().rglob("*")))
    done = sffa(*arguments)
    assert (done.code, done.err.strip().count("\n")) == (2, 0), done.err[:500]
    assert sorted(map(str, Path.cwd().rglob("*"))) == before
    assert Path("file").read_text() == "mine"
    return done.err


@pytest.mark.parametrize("place", ["pipe", "device", "loop", "folder", "file/below"])
@pytest.mark.parametrize(
    "command",
    [(*TRAIN, "--out"), (*STREAM, "--save"), (*TRAIN, "--track"), ("bench", "--out")],
    ids=["train", "save", "track", "bench"],
)
def test_what_stands_in_the_way_of_a_file_is_told_before_the_work(
    sffa: Run, places: dict[str, str], command: tuple[str, ...], place: str
) -> None:
    given = f"csv:{place}" if command[-1] == "--track" else place
    told = refused(sffa, *command, given)
    expected = places[place]
    assert expected in told or (expected == "a folder" and "a directory" in told)


@pytest.mark.parametrize("name", ["model.metrics.json", "model.curve.png", "model.md"])
def test_files_beside_the_model_are_looked_at_first_too(
    sffa: Run, places: dict[str, str], name: str
) -> None:
    os.mkfifo(name)
    assert f"{name}: is a named pipe" in refused(sffa, *TRAIN, "--card")


@pytest.mark.parametrize("place", ["file", "pipe", "loop"])
def test_a_stream_knows_before_it_learns_that_its_record_has_no_place(
    sffa: Run, places: dict[str, str], place: str
) -> None:
    assert place in refused(sffa, *STREAM, "--out", place)


def test_a_file_with_the_name_of_a_probe_stays(sffa: Run) -> None:
    Path("model.safetensors.probe").write_text("mine")
    assert sffa(*TRAIN).code == 0
    assert Path("model.safetensors.probe").read_text() == "mine"


@pytest.mark.parametrize("content", [None, "[]", "{}", "7", "[" * 100_000, b"\xff", "static"])
def test_a_branch_from_what_is_no_record_of_a_stream_is_one_line(
    sffa: Run, places: dict[str, str], content: str | bytes | None
) -> None:
    path = Path("r.json")
    if content is None:
        os.mkfifo(path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content == "static":
        path.write_text(json.dumps({"scenario": "static", "config": {"seed": 1}, "metrics": {}}))
    else:
        path.write_text(content)
    assert "--from r.json: cannot read a record" in refused(
        sffa, *STREAM, "--from", path, "--at", 1
    )


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"<svg"])
def test_figures_that_cannot_be_read_are_one_line(
    sffa: Run, places: dict[str, str], content: bytes | None
) -> None:
    Path("r.json").write_text(json.dumps([{"scenario": "static", "metrics": {}}]))
    path = Path("folder/x.svg")
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    assert "x.svg" in refused(sffa, "report", "r.json", "--figures", "folder")


def test_findings_that_are_no_text_are_one_line(sffa: Run, places: dict[str, str]) -> None:
    Path("r.json").write_text(json.dumps([{"scenario": "static", "metrics": {}}]))
    Path("findings.md").write_bytes(b"\xff\xfe")
    assert "findings.md" in refused(sffa, "report", "r.json", "--out", "r.md")
