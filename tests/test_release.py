"""What a release is made of says one thing everywhere."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

import sffa

ROOT = Path(__file__).parents[1]


@pytest.fixture
def badges(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools/documentation"), *sys.path])
    import badges

    return badges


@pytest.fixture
def accuracies(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools/documentation"), *sys.path])
    import accuracies

    return accuracies


@pytest.fixture
def project(tmp_path):
    """Return a folder with what the badges are made from, but for what is measured."""
    for name in ("pyproject.toml", "README.md"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "results").mkdir()
    return tmp_path


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


def test_the_badges_say_what_the_files_of_the_project_say(badges):
    for path, text in badges.files(ROOT).items():
        assert (ROOT / path).read_text() == text, "run tools/documentation/badges.py"


def test_texts_name_the_accuracies_that_the_records_have(accuracies):
    for name in accuracies.TEXTS:
        text = (ROOT / name).read_text()
        assert text == accuracies.filled(text), "run tools/documentation/accuracies.py"
        asked = len(re.findall(r"<!--\s*(?:acc|best)\b", text))
        assert asked == text.count("<!-- / -->") > 0


def test_an_accuracy_is_written_where_a_text_asks_for_it(accuracies):
    asked = "**<!-- acc split-mnist class naive slda -->old<!-- / -->** %"
    assert re.search(
        r"--> *\d\d\.\d\d ± 0\.\d\d \(\d+\)<!-- / -->\*\* %$", accuracies.filled(asked)
    )
    with pytest.raises(sffa.SFFAError, match="which was not run"):
        accuracies.filled(asked.replace("slda", "nobody"))


def test_what_was_not_measured_has_no_badge(badges, project):
    assert [*badges.badges(project)] == ["python", "licence"]
    assert "coverage" not in badges.files(project)[Path("README.md")].split("badges -->")[1]


def test_a_badge_has_the_measured_share_of_lines(badges, project):
    (project / "results/coverage.json").write_text(json.dumps({"percent": 94.91}))
    found = badges.files(project)
    assert ">94.91 %<" in found[badges.FOLDER / "coverage.svg"]
    assert "![lines tested: 94.91 %](docs/figures/badges/coverage.svg)" in found[Path("README.md")]
    assert badges.POOR in found[badges.FOLDER / "coverage.svg"]


def test_only_a_whole_run_of_the_tests_has_a_badge(badges, project):
    row = {"setting": "as it is", "passed": 9, "failed": 1, "problem": "", "together": []}
    rows = [row, row | {"tests": ["tests/core"]}, row | {"problem": "no pytest"}]
    rows += [row | {"setting": "one thread"}, row | {"together": ["a", "b"]}]
    place = project / "results/matrix.jsonl"
    place.write_text("\n".join(json.dumps(each) for each in rows[1:]))
    assert "tests" not in badges.badges(project)
    place.write_text("\n".join(json.dumps(each) for each in rows))
    assert badges.badges(project)["tests"] == ("tests", "9 passed, 1 failed", badges.POOR)
