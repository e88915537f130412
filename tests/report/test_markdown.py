"""Results as Markdown: the paper's own numbers put in must come out, and bear its claims out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.report.made import read
from typer.testing import CliRunner

from sffa.cli.app import app
from sffa.report import write_markdown
from sffa.report.cells import cells
from sffa.report.claims import Answer, claims
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
        found.append(record(run, best=best, last=best - 0.2, val_selected=best - 0.1))
    return found


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("results") / "RESULTS.md"
    write_markdown(path, read(as_published()), findings="## What we make of it\n\nWords.\n")
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
    assert "| SFFA | 0.00 | 36 of 36 | 36 of 36 | – |" in text
    assert "Words." in text


def test_what_was_not_run_is_said_with_the_command_that_fills_it(text: str) -> None:
    assert "| KMNIST | SFFA | 0 | not run (90.47) | – | – |" in text
    assert "`sffa reproduce rq1 --datasets kmnist,emnist-letters`" in text


def test_every_table_is_whole(text: str) -> None:
    """Each row of a table has as many cells as its head."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_papers_means_are_for_its_own_claims() -> None:
    found = claims(cells(read(as_published())))
    assert len(found) == 9
    assert all(claim.ours.positive and claim.paper.positive for claim in found)
    assert {claim.ours.verdict for claim in found} <= {"yes", "undecided"}


def test_what_a_claim_says_of_the_paper_hangs_on_how_its_errors_are_read() -> None:
    """Replay over GEM under FFA is +4.78; its error is 3.9 or, of standard deviations, 1.2."""
    found = next(c for c in claims(cells(read(as_published()))) if c.sentence.startswith("Replay"))
    assert "+4.78 [−4.02, +13.58]" in found.paper.text
    assert "+4.78 [+2.00, +7.56]" in found.paper_sd.text
    assert (found.paper.verdict, found.paper_sd.verdict) == ("undecided", "yes")


def test_a_claim_can_fail() -> None:
    """FFA made equally good in everything: neither symmetry nor replay helps it."""
    records = as_published()
    for item in records:
        if item["algorithm"] == "ffa":
            item["metrics"] = dict.fromkeys(item["metrics"], 99.9)
    found = {claim.sentence[:20]: claim.ours for claim in claims(cells(read(records)))}
    assert not found["Symmetry helps: SFFA"].positive
    assert not found["Replay is the best m"].positive
    assert not found["SFFA varies less tha"].positive
    assert found["GEM gains under SFFA"].positive


def gem(sffa: list[float], bp: list[float]) -> Answer:
    """Ask the claim about GEM of some accuracies by seed, on one dataset."""
    records = [
        record(run, acc=values[seed])
        for algorithm, values in {"sffa": sffa, "bp": bp}.items()
        for seed in range(len(values))
        for run in RQ2.restricted(
            seeds=(seed,),
            dataset=["split-mnist"],
            scenario=["class"],
            method=["gem"],
            algorithm=[algorithm],
        ).runs()
    ]
    (claim,) = claims(cells(read(records)))
    return claim.ours


def test_claims_are_paired_by_seed() -> None:
    """Seeds differ by tens of points, the algorithms by two in each: only pairing sees it."""
    answer = gem([52.0, 72.1, 91.9], [50.0, 70.0, 90.0])
    assert answer.verdict == "yes"
    assert answer.text.startswith("weakest +2.00 [+1.75, +2.25]")
    assert gem([50.0, 70.0, 90.0], [52.0, 72.1, 91.9]).verdict == "no"
    assert gem([52.0, 69.0, 94.0], [50.0, 70.0, 90.0]).verdict == "undecided"
    assert gem([52.0], [50.0]).verdict == "undecided"


def test_mas_is_asked_of_datasets_that_both_algorithms_have() -> None:
    """SFFA on one of two datasets: the other one counts for nobody."""
    records = [
        item
        for item in as_published()
        if (item["algorithm"], item["dataset"]) != ("sffa", "split-fmnist")
    ]
    mas = next(c for c in claims(cells(read(records))) if c.sentence.startswith("MAS"))
    gain = published(("split-mnist", "task", "mas", "bp"), "acc").mean
    gain -= published(("split-mnist", "task", "naive", "bp"), "acc").mean
    gain /= 2
    gain -= published(("split-mnist", "task", "mas", "sffa"), "acc").mean
    gain += published(("split-mnist", "task", "naive", "sffa"), "acc").mean
    assert f"weakest {gain:+.2f}" in mas.ours.text


def test_mas_that_harms_everyone_helps_nobody() -> None:
    """The claim is about a gain; with none under back-propagation it does not hold."""
    records = as_published()
    for item in records:
        if item["method"] == "mas":
            loss = {"bp": 4, "ffa": 3, "sffa": 3}[item["algorithm"]]
            run = (item["dataset"], item["scenario"], "naive", item["algorithm"])
            item["metrics"]["acc"] = published(run, "acc").mean - loss
    mas = next(c for c in claims(cells(read(records))) if c.sentence.startswith("MAS"))
    assert not mas.ours.positive


def test_spreads_are_compared_over_the_seeds_that_both_have() -> None:
    def spread(records: list[dict[str, Any]]) -> list[str]:
        found = claims(cells(read(records)))
        return [str(c.ours) for c in found if c.sentence.startswith("SFFA varies")]

    records = [i for i in as_published() if i["scenario"] != "static"]
    far = {"metrics": {"acc": 0.0, "fgt": 0.0, "fwt": 0.0}}
    more = [{**i, **far, "seed": i["seed"] + 2} for i in records if i["algorithm"] == "sffa"]
    (said,) = spread(records)
    assert spread([*records, *more]) == [said]
    apart = [i for i in records if i["algorithm"] != "sffa"]
    assert spread([*apart, *more]) == []


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
    text = write_markdown(tmp_path / "RESULTS.md", read(records)).read_text()
    assert "SFFA, gated (ours)" in text
    assert re.search(r"\| Class IL \| Naive \|.*\| 70.00 \|", text)
    assert re.search(
        r"\| Naive \| SFFA \| .*coupling=product \| 1 \| [^|]* \| 60.00 \| \+10.00 \|", text
    )


def test_no_record_is_left_out(tmp_path: Path) -> None:
    """Datasets and negatives beyond the paper's, failures, scenarios nobody planned."""
    static = RQ1.varying({"negatives": ["uniform", "hard"], "dataset": ["digits"]})
    tried = RQ2.varying({"network.k": [5]}).restricted(
        seeds=(0,), method=["naive"], algorithm=["sffa"], scenario=["task"], dataset=["split-mnist"]
    )
    records = [
        record(run, best=97.0 + number, last=90.0, acc=90.0)
        for number, run in enumerate(static.restricted(seeds=(0,), algorithm=["sffa"]).runs())
    ]
    stream = RQ2.restricted(seeds=(0,), method=["replay"], algorithm=["bp"], scenario=["class"])
    records += [record(run, acc=88.25) for run in stream.varying({"dataset": ["split-x"]}).runs()]
    records += [dict(record(run), status="failed") for run in tried.runs()]
    records += [dict(record(RQ2.runs()[0], acc=12.75), scenario="online")]
    text = write_markdown(tmp_path / "RESULTS.md", read(records)).read_text()
    assert "| Digits (8×8) | SFFA, uniform negatives | 1 | 97.00 |" in text
    assert "| Digits (8×8) | SFFA, hard negatives | 1 | 98.00 |" in text
    assert "| Class IL | Replay | 88.25 |" in text
    assert "12.75" in text
    assert "1 runs failed" in text


def test_counts_of_seeds_are_numbers_and_what_cannot_be_judged_is_not_counted(
    tmp_path: Path,
) -> None:
    cell = RQ2.restricted(
        seeds=tuple(range(10)), method=["naive"], algorithm=["sffa"], dataset=["split-mnist"]
    )
    records = [record(run, acc=19.9 + run.key.seed / 100, fwt=-16.04) for run in cell.runs()]
    lone = cell.restricted(seeds=(0,), scenario=["task"], algorithm=["bp"]).runs()
    records += [record(run, acc=91.0) for run in lone]
    text = write_markdown(tmp_path / "RESULTS.md", read(records)).read_text()
    assert "Seeds of a cell: 1 to 10." in text
    assert "| Back-propagation | 0.40 | 1 of 1 | 0 of 0 |" in text
    assert "**" not in text.split("## RQ2: forward transfer")[1].split("Seeds of")[0]


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
    assert "`sffa report runs.jsonl --out RESULTS.md`" in (tmp_path / "RESULTS.md").read_text()
    refused = CliRunner().invoke(app, ["report", "runs.jsonl", "--out", "x.txt"])
    assert ".html, .md or .tex" in str(refused.exception)
