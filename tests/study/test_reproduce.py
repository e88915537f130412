from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import pytest
from tests.study.conftest import GRID, invoke, result_of, said_before

from sffa.study import (
    Progress,
    Record,
    Store,
    StoreError,
    StudyError,
    export_csv,
    read_records,
    studies,
)


def recorded(study: str, count: int, seconds: float = 10.0) -> list[Record]:
    runs = studies(study)[0].runs()[:count]
    return [result_of(run, seconds=seconds) for run in runs]


def test_a_dry_run_counts_and_makes_no_file(home: Path) -> None:
    said = invoke("reproduce", "all", "--dry-run")
    assert "rq1: 36 runs, 36 missing, how long is not known" in said
    assert "rq2: 1080 runs, 1080 missing" in said
    assert list(home.iterdir()) == []


def test_a_dry_run_judges_the_time_from_past_records(home: Path) -> None:
    with Store("s.sqlite") as store:
        store.add(recorded("rq2", 108))
    arguments = ("reproduce", "rq2", "--store", "s.sqlite", "--dry-run")
    said = invoke(*arguments, "--seeds", "0-1", "--workers", "2", "--threads", "1")
    assert "216 runs, 108 missing, about 9 min with 2 at a time" in said
    assert "about 18 min with 1" in invoke(*arguments, "--seeds", "0-1", "--executor", "serial")


def test_a_dry_run_without_a_store_judges_by_the_committed_results(home: Path) -> None:
    Path("results").mkdir()
    export_csv("results/rq2.csv", recorded("rq2", 108))
    said = invoke("reproduce", "rq2", "--dry-run", "--seeds", "0", "--executor", "serial")
    assert "108 runs, 108 missing, about 18 min with 1 at a time" in said
    assert "by what runs in results took" in said
    Path("results/rq2.csv").write_text("dataset,scenario,method,algorithm,seed,acc,fgt,fwt\nbroken")
    assert "how long is not known" in invoke("reproduce", "rq2", "--dry-run")


def test_a_dry_run_counts_what_would_be_imported(home: Path) -> None:
    export_csv("past.csv", recorded("rq2", 108))
    said = invoke("reproduce", "rq2", "--dry-run", "--seeds", "0-1", "--import", "past.csv")
    assert "216 runs, 108 missing, about" in said
    assert [path.name for path in home.iterdir()] == ["past.csv"]


def test_a_study_does_not_go_on_with_data_that_changed(home: Path) -> None:
    rng = np.random.default_rng(0)
    Path("s.toml").write_text(
        "[base]\ndataset = 'd.npz'\nmethod = 'naive'\nexperiences = 2\nalgorithm = 'bp'\n"
        "hidden = [8]\n"
    )
    arguments = ("reproduce", "s.toml", "--executor", "serial")
    labels = np.arange(40) % 4
    np.savez("d.npz", x_train=rng.random((40, 5)), y_train=labels)
    invoke(*arguments)
    assert "1 of 1 runs done" in invoke(*arguments)
    np.savez("d.npz", x_train=rng.random((40, 5)), y_train=labels)
    with pytest.raises(StudyError, match=r"d\.npz has changed since 1 of these runs were made"):
        invoke(*arguments, "--seeds", "0-1")
    invoke(*arguments, "--seeds", "0-1", "--store", "another.sqlite")


def test_a_sweep_from_the_command_line_multiplies_the_cells(home: Path) -> None:
    said = invoke(
        *("reproduce", "rq1", "--dry-run", "--datasets", "mnist", "--algorithms", "sffa"),
        *("--seeds", "0", "--set", "network.k=5,15,30", "--set", "hidden=[100,100],[200]"),
    )
    assert "6 runs" in said


def test_the_comparison_works_from_a_store_and_from_csv_alike(home: Path) -> None:
    with Store("runs/rq2.sqlite") as store:
        store.add(recorded("rq2", 216))
        export_csv("r.csv", store.records())
    files = ("--out", "c.csv", "--out", "c.md")
    from_store = invoke("reproduce", "rq2", "--compare", *files)
    from_csv = invoke("reproduce", "--compare", "--from", "r.csv")
    assert from_store == from_csv
    assert "of 108 judged cells" in from_store
    assert "; seeds of a cell: 2" in from_store
    assert "split-mnist" in from_store
    assert len((home / "c.csv").read_text().splitlines()) == 1 + 108
    assert len((home / "c.md").read_text().splitlines()) == 2 + 108


def test_study_commands_show_export_import_and_check(home: Path) -> None:
    with Store("a.sqlite") as store:
        store.add(recorded("rq2", 5))
    assert "5 records in a.csv" in invoke("study", "export", "a.sqlite", "a.csv")
    assert "5 of 5" in invoke("study", "import", "a.csv", "b.sqlite")
    assert "0 of 5" in invoke("study", "import", "a.csv", "b.sqlite")
    assert read_records("b.sqlite") == read_records("a.sqlite") == read_records("a.csv")
    assert "5 records, all intact" in invoke("study", "check", "b.sqlite")
    shown = invoke("study", "show", "a.csv")
    assert shown.count("split-mnist") == 1  # what all cells share is told once
    assert [shown.count(f" {name} ") for name in ("bp", "ffa", "sffa")] == [2, 2, 1]
    with pytest.raises(StoreError, match="no store at"):
        invoke("study", "show", "absent.sqlite")


def test_a_study_begun_elsewhere_goes_on_from_its_csv(home: Path) -> None:
    arguments = (*GRID, "--executor", "serial", "--scenarios", "static", "--store")
    invoke(*arguments, "a.sqlite", "--seeds", "0", "--export", "a.csv")
    said = invoke(*arguments, "b.sqlite", "--seeds", "0-1", "--import", "a.csv")
    assert "2 of 2 records of a.csv were new" in said
    assert "4 of 4 runs done" in said
    assert said.count(": acc ") == 2


def test_a_dataset_that_cannot_be_had_is_left_out_and_said(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "s.toml").write_text(
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
    monkeypatch.setenv("SFFA_DATA_DIR", str(home / "nowhere"))
    arguments = ("reproduce", "s.toml", "--store", "s.sqlite", "--executor", "serial")
    with pytest.raises(StudyError, match="not all datasets could be had: kmnist-reduced;") as error:
        invoke(*arguments, "--export", "r.csv")
    assert "leaving out kmnist-reduced" in said_before(error)
    assert [record.dataset for record in read_records("s.sqlite")] == ["digits"]
    assert [record.dataset for record in read_records("r.csv")] == ["digits"]


def test_options_that_do_not_go_together_are_one_line(home: Path) -> None:
    from sffa.errors import SFFAError

    for arguments, said in (
        (("all", "--export", "x.csv"), "name a folder"),
        (("rq1", "--from", "x.csv"), "go with --compare"),
        (("rq1", "--compare"), "there is no store"),
        (("rq1", "--set", "seed=1"), "--seeds"),
        (("rq1", "--set", "k"), "name=value"),
    ):
        with pytest.raises(SFFAError, match=said):
            invoke("reproduce", *arguments)


def test_the_live_view_tells_done_running_failed_and_remaining() -> None:
    from rich.console import Console

    from sffa.cli.progress_view import LiveView

    runs = studies("rq2")[0].runs()[:6]
    seen = Console(record=True, width=120, file=io.StringIO())
    view = LiveView("rq2", recorded("rq2", 2, seconds=10.0), seen)
    progress = Progress(runs, slots=2, done=2, failed=1, elsewhere=1)
    progress.running = {runs[0].key: (runs[0], time.monotonic())}
    progress.waiting = [runs[1]]
    view(progress)
    seen.print(view.render())
    said = seen.export_text()
    assert "2 of 6 done, 1 running, 1 failed, 1 in other processes, 10 s left" in said
    assert f"  {runs[0]}" in said
    assert said.count("\n") == 3
