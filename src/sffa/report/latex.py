r"""Sections as LaTeX: booktabs tables, and their figures as PDF files beside the text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from sffa.files import replacing, write_text
from sffa.record import Record
from sffa.report.drawing import Drawing
from sffa.report.markdown import drawings_of
from sffa.report.results import INTRODUCTION, results
from sffa.report.sections import Section, TextTable

# graphicx makes a table smaller that is wider than the page, and leaves the others alone.
_PREAMBLE = r"""\documentclass[10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage{textcomp}
\usepackage[margin=2cm]{geometry}
\usepackage{array}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{graphicx}
\newsavebox{\tablebox}
\newcommand{\fitted}[1]{\sbox{\tablebox}{#1}\ifdim\wd\tablebox>\linewidth
  \resizebox{\linewidth}{!}{\usebox{\tablebox}}\else\usebox{\tablebox}\fi}
"""
_SIGNS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "-": "{-}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "†": r"$\dagger$",
    "λ": r"$\lambda$",
    "…": r"\dots{}",
}
_LONG = 40  # letters of a cell that is broken into lines, rows of a table that goes over pages
_SHORT = 14  # letters to which a title is broken at the most
_LETTER = 0.17  # centimetres


def write_latex(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    *,
    title: str = "Results",
    command: str = "sffa report",
) -> Path:
    """Write the results to ``path``, and their figures as PDF into ``figures`` beside it.

    The document compiles by itself; each table stands alone and can be copied into another that
    loads booktabs, longtable and graphicx.

    >>> write_latex("results.tex", []).name
    'results.tex'
    """
    target = Path(path)
    sections = results(records)
    for drawing in drawings_of(sections):
        with replacing(target.parent / "figures" / f"{drawing.name}.pdf") as temporary:
            temporary.write_bytes(drawing.pdf())
    named = " ".join(command.split()).replace("`", "'")
    introduction = Section("", [f"Made by `{named}`.", INTRODUCTION])
    write_text(target, as_latex(title, [introduction, *sections]))
    return target


def as_latex(title: str, sections: Iterable[Section]) -> str:
    """Return a document of sections."""
    body = "\n".join(_section(section, "section") for section in sections)
    begin = f"\\title{{{escaped(title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle\n"
    return f"{_PREAMBLE}{begin}\n{body}\n\\end{{document}}\n"


def escaped(text: object) -> str:
    r"""Return text as LaTeX that is text and nothing else; what it cannot set becomes a "?".

    >>> print(escaped("50 % ± 2_a"))
    50 \% $\pm$ 2\_a
    """
    return _plain(" ".join(str(text).split()))


def _plain(line: str) -> str:
    """Return a line as LaTeX, the spaces at its ends included."""
    return "".join(_SIGNS.get(sign, sign if ord(sign) < 256 else "?") for sign in line)


def _marked(text: str) -> str:
    """Return a text of ours, with what is bold and what is code."""
    parts = re.split(r"(\*\*.+?\*\*|`.+?`)", " ".join(text.split()))
    return "".join(map(_part, parts))


def _part(text: str) -> str:
    if text.startswith("**") and text.endswith("**") and len(text) > 4:
        return f"\\textbf{{{escaped(text[2:-2])}}}"
    if text.startswith("`") and text.endswith("`") and len(text) > 2:
        return f"\\texttt{{{escaped(text[1:-1])}}}"
    return _plain(text)


def _section(section: Section, kind: str) -> str:
    parts = [f"\\{kind}{{{escaped(section.title)}}}\n"] if section.title else []
    for part in section.parts:
        if isinstance(part, Section):
            parts.append(_section(part, f"sub{kind}"))
        elif isinstance(part, TextTable):
            parts.append(_long_table(part) if len(part.rows) > _LONG else _table(part))
        elif isinstance(part, Drawing):
            parts.append(_figure(part))
        else:
            parts.append(f"{_marked(part)}\n")
    return "\n".join(parts)


def _table(table: TextTable) -> str:
    head, rows = _lines(table)
    return (
        f"\\begin{{center}}\n\\fitted{{\\begin{{tabular}}{{{_columns(table)}}}\n\\toprule\n{head}"
        f"\\midrule\n{rows}\\bottomrule\n\\end{{tabular}}}}\n\\end{{center}}\n"
    )


def _long_table(table: TextTable) -> str:
    """Return a table that goes over pages, its head on each of them."""
    head, rows = _lines(table)
    return (
        f"{{\\scriptsize\\setlength{{\\tabcolsep}}{{3pt}}\n\\begin{{longtable}}{{{_columns(table)}}}"
        f"\n\\toprule\n{head}\\midrule\n\\endhead\n{rows}\\bottomrule\n\\end{{longtable}}}}\n"
    )


def _lines(table: TextTable) -> tuple[str, str]:
    lines = [" & ".join(map(_marked, row)) + " \\\\\n" for row in (table.titles, *table.rows)]
    return lines[0], "".join(lines[1:])


def _columns(table: TextTable) -> str:
    """Return the kinds of the columns: numbers to the right, words to the left, long ones broken.

    A title that is longer than what is below it is broken as well.
    """
    kinds = []
    for number, title in enumerate(table.titles):
        column = [row[number] for row in table.rows]
        figures = sum(text[:1] in "+−*" or text[:1].isdigit() for text in column)
        right = figures > len(column) / 2
        longest = max(map(len, column), default=0)
        if longest > _LONG or len(title) > max(longest, _SHORT):
            width = min(max(longest, _SHORT), _LONG) * _LETTER
            side = "left" if right else "right"
            kinds.append(f">{{\\ragged{side}\\arraybackslash}}p{{{width:.1f}cm}}")
        else:
            kinds.append("r" if right else "l")
    return "".join(kinds)


def _figure(drawing: Drawing) -> str:
    return (
        f"\\begin{{figure}}[htbp]\n\\centering\n"
        f"\\includegraphics[width=\\linewidth,height=0.85\\textheight,keepaspectratio]"
        f"{{figures/{drawing.name}.pdf}}\n"
        f"\\caption{{{escaped(drawing.title)}. {escaped(drawing.caption)}}}\n\\end{{figure}}\n"
    )
