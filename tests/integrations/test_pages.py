"""The examples in the guide and in the pages about integrations run as printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs"
NEEDS = {
    "integrations/onnx": ["onnx", "onnxruntime"],
    "integrations/avalanche": ["avalanche"],
    "integrations/river": ["river"],
}


@pytest.mark.parametrize(
    "page",
    [
        "guide",
        "extending",
        "architecture",
        "howto/tables",
        "howto/streams",
        "integrations/sklearn",
        "integrations/onnx",
        "integrations/river",
        "integrations/avalanche",
        "lite",
    ],
)
@pytest.mark.filterwarnings("default")
def test_the_examples_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    for needed in NEEDS.get(page, []):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks, f"{page}.md has no example"
    for block in blocks:
        if named := re.match(r"# (\w+)\.py\n", block):
            (tmp_path / f"{named[1]}.py").write_text(block, encoding="utf-8")
            monkeypatch.delitem(sys.modules, named[1], raising=False)
    run = [block for block in blocks if not re.match(r"# \w+\.py\n", block)]
    exec(compile("\n".join(run), f"{page}.md", "exec"), {"__name__": page})
