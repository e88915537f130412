"""Results as Markdown: the paper's own numbers put in must come out, and bear its claims out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sffa.cli.app import app
from sffa.report import write_markdown
from sffa.report.cells import cells
from sffa.report.claims import claims
from sffa.report.records import read
from sffa.study import Run
from sffa.study.paper import published
from sffa.study.presets import OURS, RQ1, RQ2


def record(run: Run, **metrics: float) -> dict[str, Any]:
    dataset, scenario, method, algorithm = run.cell
    named = {"dataset": dataset, "scenario": scenario, "method": method, "algorithm": algorithm}
    return {
        **named,
        "seed": run.key.seed,
        "metrics": metrics,
        "config": run.values,
        "seconds": 10.0,
        "status": "done",
    }


def as_published() -> list[dict[str, Any]]:
    """Make two seeds of every cell of RQ2, with the paper's means and errors, and all of RQ1."""
    found = []
    for run in RQ2.restricted(seeds=(0, 1)).runs():
        paper = published(run.cell, "acc")
        off = (paper.sem or 0) * (1 if run.key.seed else -1)
        forgot = published(run.cell, "fgt").mean
        found.append(record(run, acc=paper.mean + off, fgt=forgot, fwt=-16.04))
    for run in RQ1.restricted(seeds=(0,), dataset=["mnist", "fmnist"]).runs():
        best = published(run.cell, "best").mean
        found.append(record(run, best=best, last=best - 0.2, chosen=best - 0.1))
    return found


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("results") / "RESULTS.md"
    write_markdown(path, as_published(), findings="## What we make of it\n\nWords.\n")
    for figure in re.findall(r"\]\((figures/.*?)\)", path.read_text()):
        assert (path.parent / figure).is_file()
    return path.read_text()


def test_every_table_of_the_paper_is_there_and_agrees(text: str) -> None:
    """All 108 cells, no difference, and no mark of one."""
    accuracy = text.split("## RQ2: accuracy")[1].split("## RQ2")[0]
    assert len(re.findall(r"[+−]0\.00", accuracy)) == 108
    assert "**" not in accuracy
    assert "| Class IL | Replay | 87.75 ± 0.26 (87.75 ± 0.26) +0.00 |" in accuracy
    assert "| MNIST | SFFA | 1 | 97.87 (97.87) +0.00 | 97.67 | 97.77 |" in text
    assert "| SFFA | 36 of 36 | 36 of 36 | 0.00 | 1.00 |" in text
    assert "Words." in text


def test_what_was_not_run_is_said_with_the_command_that_fills_it(text: str) -> None:
    assert "| KMNIST | SFFA | 0 | not run (90.47) | – | – |" in text
    assert "`sffa reproduce rq1 --datasets kmnist,emnist-letters`" in text


def test_every_table_is_whole(text: str) -> None:
    """Each row of a table has as many cells as its head."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_paper_bears_out_its_own_claims() -> None:
    found = claims(cells(read(as_published())))
    assert len(found) == 7
    assert all(claim.holds and claim.ours == claim.paper for claim in found)


def test_a_claim_can_fail() -> None:
    """FFA made equally good in everything: neither symmetry nor replay helps it."""
    records = as_published()
    for item in records:
        if item["algorithm"] == "ffa":
            item["metrics"] = dict.fromkeys(item["metrics"], 99.9)
    holding = {claim.sentence[:20]: claim.holds for claim in claims(cells(read(records)))}
    assert not holding["Symmetry helps: SFFA"]
    assert not holding["Replay is the best m"]
    assert not holding["SFFA varies less tha"]
    assert holding["GEM gains under SFFA"]


def test_claims_without_numbers_are_not_made() -> None:
    assert claims([]) == []


def test_ours_is_a_column_of_its_own_and_variants_stand_beside_their_standard(
    tmp_path: Path,
) -> None:
    runs = [*RQ2.restricted(seeds=(0,), method=["naive"]).runs()]
    gated = OURS.restricted(seeds=(0,), method=["naive"]).runs()
    tried = RQ2.varying({"network.coupling": ["product"]})
    tried = tried.restricted(
        seeds=(0,), method=["naive"], algorithm=["sffa"], scenario=["task"], dataset=["split-mnist"]
    )
    records = [record(run, acc=50.0) for run in runs] + [record(run, acc=70.0) for run in gated]
    records += [record(run, acc=60.0) for run in tried.runs()]
    text = write_markdown(tmp_path / "RESULTS.md", records).read_text()
    assert "SFFA, gated (ours)" in text
    assert re.search(r"\| Class IL \| Naive \|.*\| 70.00 \|", text)
    assert re.search(r"\| Naive \| SFFA \| .*coupling=product.* \| 1 \| 60.00 \| 50.00 \|", text)


def test_the_command_writes_markdown_by_the_files_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    import json

    (tmp_path / "runs.jsonl").write_text(json.dumps(record(RQ2.runs()[0], acc=19.8)))
    (tmp_path / "findings.md").write_text("## What we make of it\n\nLittle yet.\n")
    result = CliRunner().invoke(app, ["report", "runs.jsonl", "--out", "RESULTS.md"])
    assert result.exit_code == 0, result.output
    assert "Little yet." in (tmp_path / "RESULTS.md").read_text()
    refused = CliRunner().invoke(
        app, ["report", "runs.jsonl", "--out", "x.md", "--figures", str(tmp_path)]
    )
    assert refused.exit_code != 0
    assert not (tmp_path / "x.md").exists()
