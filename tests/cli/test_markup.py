"""Names that look like markup of Rich, of HTML or of Markdown are shown as they are."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

ODD = "[/red] [bold]x[/bold]"


@pytest.fixture
def odd(sffa: Run) -> Path:
    """Have a folder and a dataset with such names, and classes too."""
    place = Path("[bold]folder[ ") / "[red]"
    place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    names = np.array([ODD, "[/]"])
    y = np.arange(40) % 2
    np.savez(place / "[blue]d.npz", x=rng.random((40, 6)), y=y, class_names=names)
    return place


def test_paths_and_classes_that_look_like_markup_are_shown_as_they_are(
    sffa: Run, odd: Path
) -> None:
    data, model = odd / "[blue]d.npz", odd / "[/m].safetensors"
    small = ("--hidden", "40", "--epochs", 1, "--set", "k=3")
    done = sffa("train", "--dataset", data, "--out", model, *small)
    assert done.code == 0, done.err
    assert str(model) in done.err
    shown = sffa("evaluate", model)
    assert shown.code == 0, shown.err
    assert f"class {ODD}" in shown.out
    np.save(odd / "[x].npy", np.zeros((1, 6)))
    assert "[x].npy[0]" in sffa("predict", model, odd / "[x].npy").out
    stream = sffa("continual", "--dataset", data, "--experiences", 2, "--out", odd, *small)
    assert stream.code == 0, stream.err
    assert str(data) in " ".join(stream.out.split())
    assert str(odd) in stream.err


def records(name: str) -> list[dict[str, object]]:
    common = {"scenario": "class", "algorithm": "bp", "seed": 0, "config": {"x": name}}
    return [
        {**common, "dataset": name, "method": name, "metrics": {"acc": 50.0, "fgt": 1.0}},
        {**common, "dataset": "a", "scenario": "static", "method": name, "metrics": {"acc": 1.0}},
    ]


def test_a_study_with_such_names_is_shown(sffa: Run) -> None:
    Path("r.json").write_text(json.dumps(records(ODD)))
    done = sffa("study", "show", "r.json")
    assert done.code == 0, done.err
    assert ODD in done.out


@pytest.mark.parametrize("name", ["<script>x</script>", "a|b", "[x](y)", "../../out", "a\nb`c"])
def test_markdown_holds_no_markup_of_a_record(sffa: Run, name: str) -> None:
    Path("inside").mkdir()
    Path("r.json").write_text(json.dumps(records(name)))
    done = sffa("report", "r.json", "--out", "inside/r.md", "--title", "a <b> title")
    assert done.code == 0, done.err
    text = Path("inside/r.md").read_text()
    assert "<script" not in text
    assert "<b>" not in text
    assert "](y)" not in text.replace("\\](y)", "")
    lines = text.replace("\\|", "").splitlines()
    for one, other in pairwise(lines):
        if one.startswith("|") and other.startswith("|"):
            assert one.count("|") == other.count("|"), other
    assert {path.name for path in Path().iterdir()} == {"inside", "r.json"}
