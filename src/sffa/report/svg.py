"""Vectors made fit for a page: nothing in them runs or loads, and their ink follows the theme."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from sffa.errors import DataError
from sffa.files import read_text
from sffa.report.drawing import Drawing
from sffa.report.style import PAPER, THEMED
from sffa.vocabulary import INK

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_KEPT = frozenset(
    {
        *("svg", "g", "defs", "use", "symbol", "title", "desc", "image", "text", "tspan"),
        *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon"),
        *("clipPath", "mask", "marker", "pattern", "linearGradient", "radialGradient", "stop"),
    }
)


def inline(svg: str, prefix: str) -> str:
    """Return the SVG as an element that may stand in a page.

    Only drawing elements stay; links lead to the SVG's parts or to PNG data within it; ids
    begin with ``prefix``; ink becomes ``currentColor`` and paper the page's ``--card``.
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise DataError(f"{prefix} is not an SVG: {error}") from None
    if root.tag != f"{{{_SVG}}}svg":
        raise DataError(f"{prefix} is not an SVG: its root is '{root.tag}'")
    safe = _copy(root, f"{prefix}-")
    assert safe is not None
    width, height = (float(part) for part in root.get("viewBox", "0 0 1 1").split()[2:4])
    for name in ("width", "height"):
        safe.attrib.pop(name, None)
    safe.set("xmlns", _SVG)
    safe.set("role", "img")
    safe.set(
        "style", f"{_root_style()}max-width:{width * 4 / 3:.0f}px;aspect-ratio:{width:g}/{height:g}"
    )
    text = ElementTree.tostring(safe, encoding="unicode")
    return _recolour(text)


def read(path: str | Path) -> Drawing:
    """Read a drawing back that `Drawing.save` wrote: its vector, its words, its data."""
    file = Path(path)
    svg = read_text(file)
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise DataError(f"{file} is not an SVG: {error}") from None
    title = root.findtext(f"{{{_SVG}}}title") or file.stem
    caption = root.findtext(f"{{{_SVG}}}desc") or ""
    beside = file.with_suffix(".csv")
    data = read_text(beside) if beside.is_file() else ""
    return Drawing(file.stem, title, caption, svg, data)


def read_folder(folder: str | Path) -> list[Drawing]:
    """Read the figures that ``sffa analyze`` wrote into a folder."""
    place = Path(folder)
    if not place.is_dir():
        raise DataError(f"no folder of figures at {place}; 'sffa analyze' writes one")
    return [read(path) for path in sorted(place.glob("*.svg"))]


def _copy(element: ElementTree.Element, prefix: str) -> ElementTree.Element | None:
    """Copy what is allowed, without namespaces, so that it can stand in HTML."""
    tag = element.tag.removeprefix(f"{{{_SVG}}}") if isinstance(element.tag, str) else ""
    if tag not in _KEPT:
        return None
    copy = ElementTree.Element(tag)
    copy.text, copy.tail = element.text, element.tail
    for name, value in element.attrib.items():
        kept = _attribute(name, value, prefix)
        if kept is not None:
            copy.set(*kept)
    copy.extend(child for part in element if (child := _copy(part, prefix)) is not None)
    return copy


def _attribute(name: str, value: str, prefix: str) -> tuple[str, str] | None:
    plain = "href" if name == _LINK else name
    if plain.startswith("{") or plain.lower().startswith("on") or ":" in plain:
        return None
    if plain == "id":
        return "id", prefix + value
    if plain == "href":
        if value.startswith("#"):
            return "href", f"#{prefix}{value[1:]}"
        return ("href", value) if value.startswith("data:image/png;base64,") else None
    if re.search(r"url\(\s*['\"]?(?!#)", value) or "@import" in value or "expression(" in value:
        return None
    return plain, value.replace("url(#", f"url(#{prefix}")


def _recolour(text: str) -> str:
    text = text.replace(INK, "currentColor")
    return re.sub(r'style="[^"]*"', lambda match: _themed(match.group()), text)


def _themed(style: str) -> str:
    for colour, variable in {PAPER: "--card", **THEMED}.items():
        style = style.replace(colour, f"var({variable})")
    return style


def _root_style() -> str:
    """Return what matplotlib says in a style sheet, which would leak into the page."""
    return "stroke-linejoin:round;stroke-linecap:butt;"
