"""Sections as Markdown, with their figures as SVG files beside the text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from sffa.files import read_text, write_text
from sffa.record import Record
from sffa.report.drawing import Drawing
from sffa.report.results import INTRODUCTION, results
from sffa.report.sections import Section, TextTable


def write_markdown(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    *,
    title: str = "Results",
    findings: str = "",
    command: str = "sffa report",
) -> Path:
    """Write the results to ``path``, and their figures into the folder ``figures`` beside it.

    ``findings`` is a section written by people, as Markdown; ``command`` is what the text says it
    was made by.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> path = write_markdown("RESULTS.md", [record])
    >>> path.read_text().startswith("# Results")
    True
    """
    target = Path(path)
    sections = results(records, Section("", [findings.strip()]) if findings else None)
    for drawing in drawings_of(sections):
        write_text(target.parent / "figures" / f"{drawing.name}.svg", drawing.svg)
    by_hand = ', none of it by hand but "What we make of it" ([findings.md](findings.md))'
    named = " ".join(command.split()).replace("`", "'")
    made = f"Made by `{named}`{by_hand if findings else ''}.\n{INTRODUCTION}"
    write_text(target, as_markdown(title, [Section("", [made]), *sections]))
    return target


def as_markdown(title: str, sections: Iterable[Section]) -> str:
    """Return a document of sections."""
    return "\n".join([f"# {words(title)}\n", *(_section(section, 2) for section in sections)])


def drawings_of(sections: Iterable[Section]) -> list[Drawing]:
    """Return all figures of a document."""
    found: list[Drawing] = []
    for section in sections:
        found += [part for part in section.parts if isinstance(part, Drawing)]
        found += drawings_of(part for part in section.parts if isinstance(part, Section))
    return found


def findings_beside(folder: Path) -> str:
    """Read what people made of the results, if they wrote it down in the folder."""
    file = folder / "findings.md"
    return read_text(file) if file.is_file() else ""


def words(text: object) -> str:
    """Return text from records as Markdown that is neither HTML nor a link nor a heading.

    Stars stay: the tables write their own bold with them.
    """
    line = " ".join(str(text).split())
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        line = line.replace(sign, entity)
    return "".join(f"\\{sign}" if sign in "`[]" else sign for sign in line)


def _section(section: Section, level: int) -> str:
    parts = [f"{'#' * level} {words(section.title)}\n"] if section.title else []
    for part in section.parts:
        if isinstance(part, Section):
            parts.append(_section(part, level + 1))
        elif isinstance(part, TextTable):
            parts.append(_table(part.titles, part.rows))
        elif isinstance(part, Drawing):
            link = f"figures/{quote(part.name)}.svg"
            parts.append(f"![{words(part.title)}]({link})\n\n{words(part.caption)}\n")
        else:
            parts.append(f"{part}\n")
    return "\n".join(parts)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """Return what stands in a cell of a table as one line that ends no cell."""
    return words(text).replace("|", "\\|")
