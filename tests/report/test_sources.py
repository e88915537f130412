"""Where a report takes its records and figures from, and the two commands."""

from __future__ import annotations

import json

import pytest
from tests.report import made
from typer.testing import CliRunner

from sffa.errors import DataError
from sffa.record import Record
from sffa.report.svg import read_folder
from sffa.study import Store, gather
from sffa.study.store.csv_file import export_csv


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(made.continual(seed=s)) for s in range(2)) + "\n\n")
    return path


def test_json_lines_are_read(jsonl):
    assert [record.seed for record in gather([jsonl])] == [0, 1]


def test_a_store_and_its_csv_give_the_same_records(tmp_path):
    records = made.read(made.continual(seed=s) for s in range(3))
    with Store(tmp_path / "study.sqlite") as store:
        store.add(records)
    export_csv(tmp_path / "study.csv", records)
    from_store = gather([tmp_path / "study.sqlite"])
    from_csv = gather([tmp_path / "study.csv"])
    assert [r.outcome() for r in from_store] == [r.outcome() for r in from_csv]
    assert len(from_store) == 3


def test_without_sources_the_results_folder_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="nothing to report"):
        gather([])
    export_csv(tmp_path / "results" / "rq2.csv", made.read([made.continual()]))
    (tmp_path / "results" / "times.csv").write_text("dataset,seconds\nmnist,1.5\n")
    assert len(gather([])) == 1


def test_absent_and_broken_sources_are_named(tmp_path):
    with pytest.raises(DataError, match=r"no records at .*nowhere\.csv"):
        gather([tmp_path / "nowhere.csv"])
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"a": 1}\nnot json\n')
    with pytest.raises(DataError, match="line 2: not JSON"):
        gather([broken])
    broken.write_text("[1]\n")
    with pytest.raises(DataError, match="expected an object"):
        gather([broken])


def test_a_folder_of_figures_must_be_there(tmp_path):
    with pytest.raises(DataError, match="no folder of figures"):
        read_folder(tmp_path / "none")


def command(function, arguments):
    import typer

    app = typer.Typer()
    app.command()(function)
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def test_report_command_writes_a_page_of_records_and_figures(jsonl, tmp_path):
    from sffa.cli.analyze import app
    from sffa.cli.report import report

    figures = tmp_path / "figures"
    drawn = CliRunner().invoke(app, ["dynamics", "--out", str(figures)], catch_exceptions=False)
    assert drawn.exit_code == 0
    out = tmp_path / "report.html"
    result = command(report, [jsonl, "--out", out, "--figures", figures, "--title", "T", "--json"])
    assert json.loads(result.stdout)["runs"] == 2
    html = out.read_text(encoding="utf-8")
    assert "Inside the networks" in html
    assert "Simulated updates on one positive sample" in html


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    from sffa.core import Network, Trainer
    from sffa.data import load

    digits = load("digits")
    net = Network(64, hidden=(80, 60), classes=range(10), k=5)
    net.standardise(digits.mean, digits.std)
    Trainer(net, negatives="uniform").fit(digits.train.flat, digits.train.y, epochs=2)
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    net.save(path, notes={"dataset": "digits", "algorithm": "sffa"})
    return path


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("sparsity", {"network", "input", "hoyer", "paper"}),
        ("usage", {"dead", "idle", "saturated", "specialisation"}),
        ("layers", {"alone, %", "up to it, %"}),
        ("calibration", {"error of pairs, %", "error of predictions, %"}),
        ("ood", {"auroc", "fpr95, %"}),
    ],
)
def test_analyze_commands_print_numbers_and_write_figures(model, tmp_path, name, columns):
    from sffa.cli.analyze import app

    arguments = [name, str(model), "--json", "--limit", "60"]
    arguments += ["--out", str(tmp_path)] if name != "layers" else []
    arguments += ["--against", "noise"] if name == "ood" else []
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    content = json.loads(result.stdout)
    assert columns <= set(content["rows"][0])
    assert bool(content["figures"]) == (name != "layers")
    assert all((tmp_path / path).exists() for path in content["figures"])


def test_analyze_all_draws_everything(model, tmp_path):
    from sffa.cli.analyze import app

    arguments = ["all", str(model), "--limit", "50", "--epochs", "0", "--against", "noise"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert len(list(tmp_path.glob("*.svg"))) == len(list(tmp_path.glob("*.png"))) == 7


def test_stability_command_trains_both(tmp_path):
    from sffa.cli.analyze import app

    arguments = ["stability", "--dataset", "digits", "--epochs", "2", "--hidden", "60", "--json"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)], catch_exceptions=False)
    rows = json.loads(result.stdout)["rows"]
    assert [row["activity term"] for row in rows] == ["without", "with"]
    assert rows[0]["updates"] == 6


def test_foreign_data_of_another_size_is_refused(model, tmp_path):
    from sffa.cli.analyze import app
    from sffa.errors import SFFAError

    arguments = ["ood", str(model), "--against", "fmnist", "--out", str(tmp_path)]
    with pytest.raises(SFFAError):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_what_static_continual_and_studied_runs_left_is_reported_alike(tmp_path, monkeypatch):
    from sffa.cli.report import report
    from sffa.continual import ContinualConfig, run
    from sffa.data import load
    from sffa.study import StaticConfig, run_static

    monkeypatch.chdir(tmp_path)
    small = {"algorithm": "bp", "hidden": [20], "epochs": 1}
    static = run_static(StaticConfig(dataset="digits", holdout=0, **small))
    config = ContinualConfig(dataset="split-digits", experiences=2, **small)
    continual = run(config, load("digits")).record()
    for name, record in (("static", static), ("continual", continual)):
        assert record.environment["version"] == record.version
        assert "commit" in record.environment
        (tmp_path / "runs").mkdir(exist_ok=True)
        (tmp_path / "runs" / f"{name}.json").write_text(json.dumps(record.to_json()))
    kept = Record.from_json({**static.to_json(), "seed": 1, "config": {**static.config, "seed": 1}})
    with Store("runs/study.sqlite") as store:
        store.add([kept])
    assert gather([]) == [continual, static, kept]
    assert json.loads(command(report, ["--json"]).stdout)["runs"] == 3
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Digits (8×8)" in html
    assert "Split-Digits" in html


def test_a_folder_gives_its_records_and_nothing_else(tmp_path, monkeypatch):
    """What commands leave in ``runs`` is the default, before ``results``."""
    monkeypatch.chdir(tmp_path)
    record = {"dataset": "split-digits", "scenario": "class", "seed": 3, "metrics": {"acc": 1.0}}
    for folder in ("runs", "results"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bench.json").write_text('[{"seconds": 1}]')
        (tmp_path / folder / "notes.txt").write_text("no record")
    with pytest.raises(DataError, match="no records in runs or results"):
        gather([])
    (tmp_path / "results" / "old.json").write_text(json.dumps([record, record]))
    assert len(gather([])) == 2
    (tmp_path / "runs" / "one.json").write_text(json.dumps(record))
    assert gather([]) == gather(["runs"]) == gather(["runs/one.json"]) == [Record.from_json(record)]
    assert len(gather(["runs", "results"])) == 3
