"""Vectors in the page: harmless, with ids of their own, in the page's ink."""

from __future__ import annotations

import pytest

from sffa.errors import DataError
from sffa.report.style import BLUE, INK
from sffa.report.svg import inline

OPEN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3">'
HOSTILE = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 viewBox="0 0 10 10" onload="alert(1)"><script>alert(1)</script><style>@import url(http://a.b)</style>
 <a xlink:href="javascript:alert(1)"><text>link</text></a><foreignObject><p>html</p></foreignObject>
 <image href="http://evil.example/x.png"/><use xlink:href="http://evil.example/#a"/>
 <rect onclick="alert(1)" style="fill: url(http://evil.example/#p)" width="1" height="1"/></svg>"""


def test_nothing_that_runs_or_loads_survives():
    safe = inline(HOSTILE, "x").lower()
    for bad in ("script", "onload", "onclick", "evil", "import", "javascript", "foreignobject"):
        assert bad not in safe


def test_ids_and_links_to_them_get_a_prefix():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"><defs><path id="a" d="M0 0"/>'
        '</defs><use href="#a"/><rect clip-path="url(#c)"/></svg>'
    )
    safe = inline(svg, "fig")
    assert 'id="fig-a"' in safe
    assert 'href="#fig-a"' in safe
    assert "url(#fig-c)" in safe


def test_ink_follows_the_theme():
    svg = f'{OPEN}<path style="stroke: {INK}"/></svg>'
    assert "currentColor" in inline(svg, "x")
    assert INK not in inline(svg, "x")


def test_colours_of_a_style_all_follow_the_theme():
    svg = f'{OPEN}<path style="fill: {BLUE}; stroke: {BLUE}"/></svg>'
    assert inline(svg, "x").count("var(--blue)") == 2


def test_pixels_within_the_drawing_stay():
    kinds = ("png", "svg+xml")
    images = "".join(f'<image href="data:image/{kind};base64,AAAA"/>' for kind in kinds)
    svg = f"{OPEN}{images}</svg>"
    assert inline(svg, "x").count("data:image/") == 1


@pytest.mark.parametrize("text", ["", "hello", "<p>no</p>", "<svg>no namespace</svg>", "<svg"])
def test_what_is_no_svg_is_refused(text):
    with pytest.raises(DataError, match="not an SVG"):
        inline(text, "x")
