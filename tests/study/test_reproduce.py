from __future__ import annotations

from pathlib import Path

import pytest
from tests.study.conftest import GRID, complete, result_of
from typer.testing import CliRunner

from sffa.study import Record, Store, StoreError, export_csv, parse, read_records, studies


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CliRunner:
    monkeypatch.chdir(tmp_path)
    return CliRunner()


def invoke(runner: CliRunner, *arguments: str) -> str:
    import typer

    from sffa.cli import study
    from sffa.cli.reproduce import reproduce

    app = typer.Typer()
    app.command()(reproduce)
    app.add_typer(study.app, name="study")
    result = runner.invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    return result.output


def recorded(study: str, count: int, seconds: float = 10.0) -> list[Record]:
    runs = studies(study)[0].runs()[:count]
    return [Record.of(result_of(run, seconds=seconds)) for run in runs]


def test_a_dry_run_counts_and_makes_no_file(command: CliRunner, tmp_path: Path) -> None:
    said = invoke(command, "reproduce", "all", "--dry-run")
    assert "rq1: 36 runs, 36 missing, how long is not known" in said
    assert "rq2: 1080 runs, 1080 missing" in said
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_judges_the_time_from_past_records(command: CliRunner) -> None:
    with Store("s.sqlite") as store:
        store.add(recorded("rq2", 108))
    arguments = ("reproduce", "rq2", "--store", "s.sqlite", "--dry-run")
    said = invoke(command, *arguments, "--seeds", "0-1", "--workers", "2", "--threads", "1")
    assert "216 runs, 108 missing, about 9 min 00 s with 2 at a time" in said
    assert "about 18 min 00 s with 1" in invoke(
        command, *arguments, "--seeds", "0-1", "--executor", "serial"
    )


def test_a_sweep_from_the_command_line_multiplies_the_cells(command: CliRunner) -> None:
    said = invoke(
        command,
        *("reproduce", "rq1", "--dry-run", "--datasets", "mnist", "--algorithms", "sffa"),
        *("--seeds", "0", "--set", "network.k=5,15,30", "--set", "hidden=[100,100],[200]"),
    )
    assert "6 runs" in said


def test_the_comparison_works_from_a_store_and_from_csv_alike(
    command: CliRunner, tmp_path: Path
) -> None:
    with Store("runs/rq2.sqlite") as store:
        store.add(recorded("rq2", 216))
        export_csv("r.csv", store.records())
    files = ("--out", "c.csv", "--out", "c.md")
    from_store = invoke(command, "reproduce", "rq2", "--compare", *files)
    from_csv = invoke(command, "reproduce", "--compare", "--from", "r.csv")
    assert from_store == from_csv
    assert "108 of" not in from_store
    assert "split-mnist" in from_store
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 1 + 108
    assert len((tmp_path / "c.md").read_text().splitlines()) == 2 + 108


def test_study_commands_show_export_import_and_check(command: CliRunner) -> None:
    with Store("a.sqlite") as store:
        store.add(recorded("rq2", 5))
    assert "5 records in a.csv" in invoke(command, "study", "export", "a.sqlite", "a.csv")
    assert "5 of 5" in invoke(command, "study", "import", "a.csv", "b.sqlite")
    assert "0 of 5" in invoke(command, "study", "import", "a.csv", "b.sqlite")
    assert read_records("b.sqlite") == read_records("a.sqlite") == read_records("a.csv")
    assert "5 records, all intact" in invoke(command, "study", "check", "b.sqlite")
    assert invoke(command, "study", "show", "a.csv").count("split-mnist") == 5
    with pytest.raises(StoreError, match="no store at"):
        invoke(command, "study", "show", "absent.sqlite")


def test_a_study_begun_elsewhere_goes_on_from_its_csv(tmp_path: Path) -> None:
    arguments = (*GRID, "--executor", "serial", "--scenarios", "static", "--store")
    code, said = complete(*arguments, "a.sqlite", "--seeds", "0", "--export", "a.csv", cwd=tmp_path)
    assert code == 0, said
    code, said = complete(
        *arguments, "b.sqlite", "--seeds", "0-1", "--import", "a.csv", cwd=tmp_path
    )
    assert code == 0, said
    assert "2 of 2 records of a.csv were new" in said
    assert "4 of 4 runs done" in said
    assert said.count(": acc ") == 2


def test_a_dataset_that_cannot_be_had_is_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        """
        [base]
        scenario = "static"
        epochs = 1
        holdout = 0
        hidden = [20]
        algorithm = "bp"
        [axes]
        dataset = ["kmnist-reduced", "digits"]
        """
    )
    arguments = ("reproduce", "s.toml", "--store", "s.sqlite", "--executor", "serial")
    code, said = complete(*arguments, "--data-dir", "nowhere", cwd=tmp_path)
    assert code == 2
    assert "leaving out kmnist-reduced" in said
    assert said.strip().splitlines()[-1].startswith("error: not all datasets could be had")
    assert [record.dataset for record in read_records(tmp_path / "s.sqlite")] == ["digits"]


def test_options_that_do_not_go_together_are_one_line(command: CliRunner) -> None:
    from sffa.errors import SFFAError

    for arguments, said in (
        (("all", "--export", "x.csv"), "name a folder"),
        (("rq1", "--from", "x.csv"), "go with --compare"),
        (("rq1", "--compare"), "there is no store"),
        (("rq1", "--set", "seed=1"), "--seeds"),
        (("rq1", "--set", "k"), "name=value"),
    ):
        with pytest.raises(SFFAError, match=said):
            invoke(command, "reproduce", *arguments)


def test_the_seed_belongs_to_the_run_and_not_to_the_configuration() -> None:
    assert parse({"scenario": "class", "seed": 3}).values["seed"] == 3
