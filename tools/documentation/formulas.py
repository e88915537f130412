"""Formulas of the pages as MathML, made when the site is built: nothing is loaded to show them.

`pymdownx.arithmatex` finds the formulas and leaves code alone; here LaTeX becomes MathML.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_TAG = re.compile(r"\\tag\{(\w+)\}")


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page."""
    content = _BLOCK.sub(lambda found: _block(found[1]), content)
    return _INLINE.sub(lambda found: mathml(found[1], "inline"), content)


def _block(latex: str) -> str:
    """Return a formula on a line of its own, with its number if it has one."""
    numbers = [f'<span class="number">({found[1]})</span>' for found in _TAG.finditer(latex)]
    return f'<div class="formula">{mathml(_TAG.sub("", latex), "block")}{"".join(numbers)}</div>'


def mathml(latex: str, display: str) -> str:
    """Return the formula as MathML; what the converter does not know fails the build."""
    plain = html.unescape(latex).strip()
    for bars in (r"\lVert", r"\rVert"):  # as fences they would stretch to the exponent behind them
        plain = plain.replace(bars, r"\|")
    found: str = convert(plain, display=display)
    if "\\" in found:
        raise PluginError(f"a formula has a command that is not known: {latex}")
    return found
