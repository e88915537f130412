"""What the site is made of besides Markdown: tools/documentation. The build itself is strict."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("latex2mathml")

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools/documentation"), *sys.path])


def test_every_link_to_code_leads_to_a_name_that_is_there() -> None:
    import pages

    links = [
        found
        for page in (ROOT / "docs").rglob("*.md")
        for found in re.findall(r"\(code:([\w/]+\.py):([\w.]+)\)", page.read_text())
    ]
    assert len(links) > 30
    for name, dotted in links:
        assert pages.line_of(pages.SOURCE / name, dotted) > 0


def test_a_link_to_a_name_that_is_gone_fails_the_build() -> None:
    import pages
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match="has no 'Nobody'"):
        pages.line_of(pages.SOURCE / "core/goodness.py", "Nobody")


def test_every_formula_of_the_method_becomes_mathml() -> None:
    import formulas

    text = (ROOT / "docs/method.md").read_text()
    blocks = re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)
    assert len(blocks) > 10
    for latex in blocks:
        page = f'<div class="arithmatex">\\[{latex}\\]</div>'
        assert "<math" in formulas.on_page_content(page)


def test_a_command_that_the_converter_does_not_know_fails_the_build() -> None:
    import formulas
    from mkdocs.exceptions import PluginError

    with pytest.raises(PluginError, match="not known"):
        formulas.mathml(r"\nosuchthing x", "inline")


def test_every_public_name_has_one_place_in_the_reference() -> None:
    import reference

    text = "".join(page for _, page in reference.api_pages())
    shown = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    places = [reference.origin(*name.rsplit(".", 1)) for name in shown]
    assert len(set(places)) == len(places)
    for module in reference.PAGES:
        for name in reference.public_names(module):
            assert reference.origin(module, name) in places


def test_types_of_options_are_shown_as_one_writes_them() -> None:
    from typing import Annotated, Any, Literal

    import reference
    from pydantic import Field

    checked = Annotated[str, Field(max_length=500)]
    assert reference.type_name(checked | None) == "str | None"
    assert reference.type_name(float | Literal["mean"]) == "float | 'mean'"
    assert reference.type_name(dict[str, Any]) == "dict[str, Any]"
    assert reference.type_name(tuple[tuple[int, ...], ...]) == "tuple[tuple[int, ...], ...]"


def test_every_option_of_a_run_is_explained() -> None:
    import reference

    rows = [line for line in reference.configuration().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert [row for row in rows if row.count(" | ") >= 3 and row.endswith("|  |")] == []


def test_the_coverage_is_shown_as_it_was_measured(tmp_path: Path) -> None:
    import pages

    assert "Not measured" in pages.coverage(tmp_path / "nothing.json")
    measured = {
        "src/sffa/files.py": {
            "summary": {"num_statements": 4, "covered_lines": 3},
            "missing_lines": [7],
        },
        "src/sffa/study/store/store.py": {
            "summary": {"num_statements": 6, "covered_lines": 6},
            "missing_lines": [],
        },
    }
    sys.path.insert(0, str(ROOT / "tools"))
    from coverage_summary import summary

    (tmp_path / "coverage.json").write_text(json.dumps(summary(measured)))
    shown = pages.coverage(tmp_path / "coverage.json")
    assert "| sffa | 4 | 75.0 |" in shown
    assert "| **all** | 10 | 90.0 |" in shown
    assert "of the store every line" in shown
    assert "of the storage all but `sffa/files.py:7`" in shown


def test_what_is_loaded_from_another_host_is_found_and_links_are_not() -> None:
    import pages

    for loaded in (
        '<script src="https://elsewhere/x.js">',
        '<link rel="stylesheet" href="//elsewhere/x.css">',
        '<img alt="" src="http://elsewhere/x.png">',
        "@import url(https://elsewhere/x.css)",
    ):
        assert pages.LOADED.search(loaded)
    for harmless in ('<a href="https://elsewhere">', '<script src="assets/x.js">'):
        assert not pages.LOADED.search(harmless)
