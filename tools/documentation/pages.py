"""What the pages of the site need beside Markdown: results, figures in the page, links to code.

At the end the site is searched for anything that a browser would load from another host.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from accuracies import accuracy_text
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from sffa.errors import DataError

RESULTS = Path("results")
SOURCE = Path("src/sffa")
_ACCURACY = re.compile(r"\{\{ acc ([^}]+?) \}\}")
_COVERAGE = "{{ coverage }}"
_CODE = re.compile(r"\(code:([\w/]+\.py)(?::([\w.]+))?\)")
_LINK = re.compile(r'href="code:([\w/]+\.py)(?::([\w.]+))?"')
_IMAGE = re.compile(r'<img alt="([^"]*)" src="([^"]+\.svg)"\s*/?>')
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//"""
    r"""|(?:@import|url\()\s*["']?(?:https?:)?//"""
)


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the results, and a page for every file of code that a page links to."""
    text = (RESULTS / "RESULTS.md").read_text(encoding="utf-8")
    title, rest = text.split("\n", 1)
    text = f"{title}\n\nA click on the head of a column sorts by it.\n{rest}"
    files.append(File.generated(config, "results/index.md", content=text))
    findings = (RESULTS / "findings.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "results/findings.md", content=f"# Findings\n\n{findings}"))
    for path in sorted(RESULTS.rglob("*")):
        if path.suffix in (".csv", ".json", ".svg"):
            files.append(File.generated(config, path.as_posix(), abs_src_path=str(path.absolute())))
    wanted = {found for file in files.documentation_pages() for found in _linked(file)}
    for name in sorted(wanted):
        files.append(File.generated(config, f"code/{name}.md", content=_listing(name)))
    return files


def _linked(file: File) -> set[str]:
    return {found[1] for found in _CODE.finditer(file.content_string)}


def _listing(name: str) -> str:
    text = (SOURCE / name).read_text(encoding="utf-8")
    head = "---\nsearch:\n  exclude: true\nhide: [navigation, toc]\n---\n"
    return f'{head}\n# `{name}`\n\n````python linenums="1"\n{text}\n````\n'


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in accuracies, ``{{ acc DATASET SCENARIO METHOD ALGORITHM }}``, and the coverage.

    Settings other than the preset's follow as ``name=value``, in the order of their names.
    """
    if _COVERAGE in markdown:
        markdown = markdown.replace(_COVERAGE, coverage(RESULTS / "coverage.json"))
    return _ACCURACY.sub(lambda found: _accuracy(found[1]), markdown)


def _accuracy(place: str) -> str:
    try:
        return accuracy_text("acc", place)
    except DataError as error:
        raise PluginError(str(error)) from None


def coverage(path: Path) -> str:
    """Return the lines that tests reach as a table, or that nobody has counted them."""
    if not path.exists():
        return "Not measured for this state of the sources."
    found = json.loads(path.read_text(encoding="utf-8"))
    rows = {**found["packages"], "**all**": {name: found[name] for name in ("lines", "covered")}}
    lines = [
        f"| {name} | {each['lines']:,} | {100 * each['covered'] / max(each['lines'], 1):.1f} |"
        for name, each in rows.items()
    ]
    lacking = [
        f"of the {name} {'all but ' if places else 'every line'}"
        + ", ".join(f"`{place}`" for place in places)
        for name, places in found["missing"].items()
    ]
    table = "\n".join(["| package | lines | reached, % |", "| --- | ---: | ---: |", *lines])
    return f"{table}\n\nOf what keeps and reads files they reach {'; '.join(lacking)}."


def on_page_content(content: str, page: Page, files: Files, **_: Any) -> str:
    """Point links at lines of code, and put drawings into the page, whose theme they follow."""
    content = _LINK.sub(lambda found: f'href="{_line(found, page)}"', content)
    numbers = iter(range(1000))
    return _IMAGE.sub(lambda found: _drawn(found, page, files, next(numbers)), content)


def _line(found: re.Match[str], page: Page) -> str:
    name, dotted = found.groups()
    number = line_of(SOURCE / name, dotted) if dotted else 1
    return f"{get_relative_url(f'code/{name}.html', page.url)}#__codelineno-0-{number}"


def line_of(path: Path, dotted: str) -> int:
    """Return the line on which a class, function or constant begins; it must be there."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    line = 0
    for part in dotted.split("."):
        found = next((node for node in nodes if part in _names(node)), None)
        if found is None:
            raise PluginError(f"a page links to {dotted} of {path}, which has no '{part}'")
        line, nodes = found.lineno, getattr(found, "body", [])
    return line


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def _drawn(found: re.Match[str], page: Page, files: Files, number: int) -> str:
    from sffa.report.svg import inline

    words, source = found.groups()
    file = files.get_file_from_path(_absolute(page.url, source))
    if file is None:
        return found[0]
    drawing = inline(file.content_string, f"figure{number}")
    return f'<span class="drawing" role="img" aria-label="{escape(words)}">{drawing}</span>'


def _absolute(page: str, relative: str) -> str:
    parts = page.split("/")[:-1]
    for part in relative.split("/"):
        parts = parts[:-1] if part == ".." else [*parts, part]
    return "/".join(parts)


def on_post_build(config: Any, **_: Any) -> None:
    """Fail if a page would load something from another host."""
    for path in Path(config["site_dir"]).rglob("*"):
        if path.suffix in (".html", ".css"):
            found = LOADED.search(path.read_text(encoding="utf-8"))
            if found:
                raise PluginError(f"{path} loads from another host: {found[0][:200]}")
