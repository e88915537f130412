"""Every command that the documentation prints is one that the command line takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from typer.core import TyperCommand

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))


@pytest.fixture
def parse(sffa: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the command line as it is, but for the last step: what was understood is not done."""
    monkeypatch.setattr(TyperCommand, "invoke", lambda *_: None)
    return sffa


def lines(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of each ``sffa …`` in the shell blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^ *```(?:sh|console)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            words = shlex.split(line.strip().removeprefix("$ "), comments=True)
            if words[:1] == ["sffa"]:
                yield words[1:]


def mentions(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of each `sffa …` within the sentences of a page, whole or not."""
    text = page.read_text(encoding="utf-8").replace("\n# ", " ")  # a tutorial's text is comments
    for found in re.findall(r"`sffa ([^`]+)`", text):
        if "…" not in found and "|" not in found:
            yield shlex.split(found)


@pytest.mark.parametrize("page", [page for page in PAGES if [*lines(page)]], ids=lambda p: p.stem)
def test_the_commands_of_a_page_are_understood(page: Path, parse: Run) -> None:
    for arguments in lines(page):
        done = parse(*arguments)
        assert done.code == 0, f"sffa {shlex.join(arguments)}: {done.err}"


@pytest.mark.parametrize(
    "page", [p for p in (*PAGES, *TUTORIALS) if [*mentions(p)]], ids=lambda p: p.stem
)
def test_commands_and_options_that_a_page_mentions_exist(page: Path, parse: Run) -> None:
    for arguments in mentions(page):
        done = parse(*arguments)
        if done.code and done.err:  # a group alone prints its help, and no error
            assert re.search(
                r"Missing (argument|option|command)|cannot import 'ideas'", done.err
            ), f"sffa {shlex.join(arguments)}: {done.err}"


def test_a_command_that_is_wrong_is_found(parse: Run) -> None:
    assert parse("train", "--no-such-option").code == 2
    assert parse("no-such-command").code == 2
    assert parse("train", "--epochs", "ten").code == 2
