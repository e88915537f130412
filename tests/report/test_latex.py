"""Results as LaTeX: whole tables, nothing that TeX would run, and a document that compiles."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report import made
from tests.report.made import read

from sffa.report import write_latex
from sffa.report.drawing import finish
from sffa.report.latex import as_latex, escaped
from sffa.report.sections import Section, TextTable
from sffa.report.style import styled

HOSTILE = r"\input{/etc/passwd} 50% of $x_1^2$ #{~} & <b> | `a` é λ 漢"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = [
        made.continual(algorithm=algorithm, method=method, seed=seed, dataset=dataset)
        for dataset in ("split-mnist", HOSTILE)
        for algorithm in ("bp", "sffa")
        for method in ("naive", "replay")
        for seed in range(3)
    ]
    folder = tmp_path_factory.mktemp("latex")
    return write_latex(folder / "results.tex", read(records), title="R & D")


def test_every_row_has_as_many_cells_as_its_head(document: Path) -> None:
    text = document.read_text()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") >= 3
    for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.S):
        rows = re.findall(r"^(?!\\).*\\\\$", table, re.M)
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1


def test_what_records_say_is_text_and_nothing_else(document: Path) -> None:
    text = document.read_text()
    assert r"\input{" not in text
    assert r"\textbackslash{}input\{/etc/passwd\}" in text
    assert escaped("漢") == "?"


def test_bold_and_code_are_set_and_long_tables_go_over_pages() -> None:
    rows = [["a", "**1.00**"]] * 50
    words = "Run `sffa_x` in **bold** words."
    text = as_latex("T", [Section("S", [words, TextTable(["x", "y"], rows)])])
    assert r"Run \texttt{sffa\_x} in \textbf{bold} words." in text
    assert text.count(r"\textbf{1.00}") == 50
    assert r"\begin{longtable}" in text


def test_figures_are_pdf_files_and_the_same_each_time(document: Path) -> None:
    named = re.findall(r"\{(figures/.*?\.pdf)\}", document.read_text())
    assert named
    assert all((document.parent / name).read_bytes().startswith(b"%PDF") for name in named)
    from matplotlib.figure import Figure

    with styled():
        figure = Figure()
        figure.subplots()
        drawing = finish("f", "t", "c", figure, [])
    assert drawing.pdf() == drawing.pdf()


def test_the_document_compiles(document: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", document.name]
    fonts = {**os.environ, "TEXMFVAR": str(document.parent / "fonts")}  # also where HOME is nothing
    done = subprocess.run(command, cwd=document.parent, env=fonts, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert document.with_suffix(".pdf").stat().st_size > 10_000
