"""The ideas in examples/: short, and running on the embedded digits without any other data."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
OTHERS = ("common", "optuna_search")  # what the ideas share; a search, which has its own test
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in OTHERS)


def test_there_are_ten_ideas_of_forty_lines_at_most() -> None:
    assert len(NAMES) == 10
    for name in NAMES:
        lines = (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 40, name


@pytest.mark.parametrize("name", NAMES)
def test_an_idea_runs_and_differs_from_what_it_is_compared_with(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delenv("SFFA_DATA_DIR", raising=False)
    common = importlib.import_module("common")
    monkeypatch.setitem(common.SMALL, "hidden", (40,))
    monkeypatch.setitem(common.SMALL, "epochs", 1)
    found = importlib.import_module(name).main(seed=0)
    assert len(set(found.values())) == len(found) >= 2
    assert all(0 < value <= 100 for value in found.values())
