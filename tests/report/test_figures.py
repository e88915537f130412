"""Figures: complete, alike in every run, with their data beside them, and no global state."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest
from tests.report import made
from tests.report.made import read

from sffa.analysis.calibration import Calibration, reliability
from sffa.analysis.sparsity import Sparsity
from sffa.analysis.stability import Trace
from sffa.analysis.usage import Usage
from sffa.report import figures
from sffa.report.cells import cells
from sffa.report.drawing import Drawing
from sffa.report.svg import inline
from sffa.report.svg import read as read_back


def all_drawings() -> list[Drawing]:
    rng = np.random.default_rng(0)
    layer = Usage(
        activity=rng.random(1400),
        by_class=rng.random((10, 1400)),
        dead=rng.random(1400) < 0.1,
        idle=rng.random(1400) < 0.5,
        saturated=np.zeros(1400, bool),
        halves=2,
    )
    counts = {sign: rng.integers(0, 30, (2, 100)) for sign in ("positive", "negative")}
    scores = {sign: rng.random((2, 100)) for sign in ("positive", "negative")}
    curve = reliability(rng.random(500), rng.random(500) < 0.5)
    trace = Trace(rng.random(300), rng.random(300), 100)
    groups = cells(read([*made.whole_study(2), made.static(), made.static(algorithm="bp")]))
    return [
        figures.models(),
        figures.surfaces(),
        figures.dynamics(),
        figures.sparsity({"sffa": Sparsity(1400, scores, counts)}, "mnist"),
        figures.usage({"sffa": [layer], "ffa": [layer]}, "mnist"),
        figures.specialisation({"sffa": [layer, layer]}, "mnist"),
        figures.stability({"without": trace, "with": trace}, "mnist"),
        figures.calibration({"sffa": Calibration(curve, curve)}, "mnist"),
        figures.ood("sffa", ("mnist", rng.random(50)), {"fmnist": rng.random(50)}),
        figures.agreement(groups),
        figures.accuracy_bars(groups),
        *figures.learning_curves(groups),
        *figures.streams(groups),
    ]


@pytest.fixture(scope="module")
def drawings() -> list[Drawing]:
    return all_drawings()


def test_every_figure_has_a_name_of_its_own_words_and_vector(drawings):
    assert len({drawing.name for drawing in drawings}) == len(drawings) == 14
    for drawing in drawings:
        assert drawing.title
        assert len(drawing.caption) > 40
        assert f"<title>{drawing.title}" in drawing.svg or "&" in drawing.svg
        assert inline(drawing.svg, drawing.name).startswith("<svg")


def test_data_is_beside_every_figure_that_has_any(drawings):
    for drawing in drawings:
        rows = list(csv.reader(drawing.csv.splitlines()))
        if drawing.name == "models":
            assert rows == []
            continue
        assert len(rows) > 1, drawing.name
        assert {len(row) for row in rows} == {len(rows[0])}


def test_drawing_again_gives_the_same_bytes():
    assert figures.dynamics().svg == figures.dynamics().svg
    assert figures.models().png(50) == figures.models().png(50)


def test_saving_writes_vector_pixels_and_data_that_read_back(tmp_path):
    drawing = figures.dynamics()
    svg, png, pdf, data = drawing.save(tmp_path)
    assert pdf.read_bytes().startswith(b"%PDF")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert data.read_text() == drawing.csv
    back = read_back(svg)
    assert (back.name, back.title, back.caption) == (drawing.name, drawing.title, drawing.caption)


def test_pyplot_is_never_loaded():
    drawing = "from sffa.report import figures; figures.surfaces().png()"
    check = "import sys; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", f"{drawing}; {check}"], check=True, timeout=120)


def test_style_does_not_leak(drawings):
    import matplotlib as mpl

    assert drawings
    assert mpl.rcParams["axes.grid"] is mpl.rcParamsDefault["axes.grid"]
    assert mpl.rcParams["svg.hashsalt"] == mpl.rcParamsDefault["svg.hashsalt"]


def test_stream_data_are_mean_and_deviation_over_seeds():
    records = [made.continual(seed=s, curve=[90.0, v]) for s, v in enumerate((80.0, 84.0))]
    (drawing,) = figures.streams(cells(read(records)))
    last = list(csv.DictReader(drawing.csv.splitlines()))[-1]
    assert float(last["mean"]) == 82
    assert float(last["sd"]) == pytest.approx(8**0.5, rel=1e-5)
    assert last["runs"] == "2"


@pytest.mark.parametrize("curve", [None, [], "text", [1.0, None], [{"epoch": 1}], [float("nan")]])
def test_odd_curves_are_left_out(curve):
    assert figures.streams(cells(read([made.continual(curve=curve)]))) == []
    assert figures.learning_curves(cells(read([made.static(curve=curve)]))) == []


def test_no_static_runs_no_bars():
    assert figures.accuracy_bars(cells(read([made.continual()]))) is None
    assert figures.agreement(cells(read([made.static()]))) is None


@pytest.mark.parametrize("name", ["$\\frac{$", "a$b", "漢字🎈", "x" * 300, "two\nlines", "<b>&"])
def test_any_name_can_be_drawn(name):
    records = [
        made.static(dataset=name, algorithm=name),
        {**made.continual(), "dataset": name, "method": name, "algorithm": name},
    ]
    groups = cells(read(records))
    drawn = [figures.accuracy_bars(groups), *figures.streams(groups)]
    for drawing in [*drawn, *figures.learning_curves(groups)]:
        assert inline(drawing.svg, "x")
        assert "\\$" not in drawing.title


def test_tables_are_drawn_in_the_order_of_the_first_model_against_another() -> None:
    rows = [
        {"table": table, "model": model, "accuracy": str(accuracy + split)}
        for split in (0, 2)
        for table, model, accuracy in (
            ("easy", "A", 90),
            ("easy", "B", 80),
            ("hard", "A", 60),
            ("hard", "B", 70),
        )
    ]
    drawing = figures.tables_figure(rows, against="B", first="A")
    assert drawing is not None
    lines = drawing.csv.splitlines()
    assert lines[1:] == ["hard,A,61", "hard,B,71", "easy,A,91", "easy,B,81"]
    assert "Accuracy above that of B" in drawing.svg
    assert figures.tables_figure(rows[:1], against="B", first="A") is None
