"""A document as data: sections of paragraphs, tables and figures, for whoever writes them down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sffa.report.drawing import Drawing


@dataclass(frozen=True)
class TextTable:
    """A table of texts, in which ``**`` stands around what is bold."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A heading and what is below it.

    A string is a paragraph in our own words: ``**`` around what is bold, `` ` `` around code.
    """

    title: str
    parts: Sequence[str | TextTable | Drawing | Section]
