"""What a release is made of says one thing everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import sffa

ROOT = Path(__file__).parents[1]


def test_the_citation_has_the_version_of_the_package():
    found = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == sffa.__version__


def test_the_changelog_has_the_version_with_its_date_below_what_comes_next():
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    released = re.search(r"^date-released: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert released is not None
    assert heads[1] == f"[{sffa.__version__}] - {released[1]}"


def test_every_extra_that_make_installs_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.search(
        r'^DEV_EXTRAS := "\.\[(.+)\]"$', (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert named is not None
    assert {*named[1].split(",")} <= {*project["optional-dependencies"]}


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")))
def test_workflows_call_targets_that_make_has(path):
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = set(re.findall(r"run: make ([a-z-]+)", path.read_text()))
    assert called
    assert called <= known
