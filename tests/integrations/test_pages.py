"""The examples of the documentation run as printed: guide, how-tos, integrations, first pages."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.conftest import why_no_avalanche
from tests.report import made

from sffa.study.store import Store
from sffa.study.study_file import read_study_file

DOCS = Path(__file__).parents[2] / "docs"
NEEDS = {
    "integrations/onnx": ["onnx", "onnxruntime"],
    "integrations/avalanche": ["avalanche"],
    "integrations/river": ["river"],
    "howto/trackers": ["tensorboard"],
    "results-store": ["pandas"],
}


def make_pictures() -> None:
    """Make what the page on images begins with: pictures in a folder for each class."""
    rng = np.random.default_rng(0)
    for name in ("train/cat", "train/dog", "test/cat", "test/dog"):
        Path("pictures", name).mkdir(parents=True)
        for number in range(3):
            pixels = rng.integers(0, 256, (8, 8), dtype=np.uint8)
            Image.fromarray(pixels).save(Path("pictures", name, f"{number}.png"))


def make_store() -> None:
    """Make what the page on the store begins with: a study that is done."""
    Path("runs").mkdir()
    with Store(Path("runs/rq2.sqlite")) as store:
        store.add(made.read([made.continual(seed=seed) for seed in range(2)]))


GIVEN = {"howto/images": make_pictures, "results-store": make_store}


def blocks(page: str, language: str = "python") -> list[str]:
    """Return the blocks of code of a page."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def pages(language: str = "python") -> list[str]:
    """Return the pages that have such blocks, README included."""
    written = sorted(page.relative_to(DOCS).with_suffix("") for page in DOCS.rglob("*.md"))
    names = ["../README", *(page.as_posix() for page in written)]
    return [name for name in names if blocks(name, language)]


@pytest.mark.parametrize("page", pages())
@pytest.mark.filterwarnings("default")
def test_the_examples_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for needed in NEEDS.get(page, []):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    if "avalanche" in NEEDS.get(page, []) and (reason := why_no_avalanche()):
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    GIVEN.get(page, lambda: None)()
    run = []
    for block in blocks(page):
        if named := re.match(r"# (\w+)\.py\n", block):
            (tmp_path / f"{named[1]}.py").write_text(block, encoding="utf-8")
            monkeypatch.delitem(sys.modules, named[1], raising=False)
        else:
            run.append(block)
    exec(compile("\n".join(run), f"{page}.md", "exec"), {"__name__": page})


def test_the_study_that_searches_can_be_read(tmp_path: Path) -> None:
    [text] = blocks("howto/search", "toml")
    (tmp_path / "lr.toml").write_text(text, encoding="utf-8")
    study = read_study_file(tmp_path / "lr.toml")
    assert len(study.runs()) == 6
