"""Stores, CSVs and JSON records of the first format: read as they were, and used as today's."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.study.conftest import environment, invoke

from sffa.study import Record, Run, Store, StudyError, gather, import_csv, parse, read_records
from sffa.study.upgrade import from_json, present_config

OLD = Path(__file__).parents[1] / "fixtures" / "format-1"

STATIC = {"scenario": "static", "dataset": "digits", "epochs": 2, "lr": 0.003, "holdout": 200}
STREAM = {"scenario": "class", "dataset": "split-digits", "epochs": 1}
COMMON = {"hidden": [20, 20], "batch_size": 128}
SPARSE = {"network": {"k": 3, "contrast_with": "current"}, "backend": "torch"}


def asked(kind: dict[str, object], algorithm: str, seed: int, **more: object) -> Run:
    sparse = SPARSE if algorithm == "sffa" else {}
    if (kind["scenario"], algorithm) == ("static", "ffa"):
        sparse = {"network": {"scale": "mean"}}  # its default then
    return parse({**COMMON, **kind, "algorithm": algorithm, "seed": seed, **sparse, **more})


# What the first version ran, written as one asks for it today.
RUNS = [
    *(asked(STATIC, a, seed) for a in ("bp", "ffa", "sffa") for seed in (0, 1)),
    *(
        asked(STREAM, a, seed, method=method)
        for a in ("bp", "ffa", "sffa")
        for method in ("naive", "replay")
        for seed in (0, 1)
    ),
]
WAITING, CLAIMED = (asked(STREAM, "sffa", seed, method="naive") for seed in (2, 3))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return Path(shutil.copy(OLD / "store.sqlite", tmp_path / "s.sqlite"))


def written() -> dict[tuple[str, ...], tuple[float, ...]]:
    """Return the metrics of the store by cell and seed, as SQLite has them."""
    db = sqlite3.connect(f"{(OLD / 'store.sqlite').as_uri()}?mode=ro&immutable=1", uri=True)
    rows = db.execute(
        "SELECT dataset, scenario, method, algorithm, seed, acc, fgt, fwt, bwt, best, last, chosen "
        "FROM runs WHERE status = 'done'"
    ).fetchall()
    db.close()
    return {row[:5]: row[5:] for row in rows}


def metrics(record: Record) -> tuple[float | None, ...]:
    names = ("acc", "fgt", "fwt", "bwt", "best", "last", "val_selected")
    return tuple(record.metrics.get(name) for name in names)


def by_run(records: list[Record]) -> dict[tuple[object, ...], tuple[float | None, ...]]:
    return {(*r.cell, r.seed): metrics(r) for r in records if r.done}


def test_a_csv_has_the_same_metrics_and_the_keys_of_today() -> None:
    records = import_csv(OLD / "records.csv")
    assert by_run(records) == written()
    assert {run.key for run in RUNS} <= {record.key for record in records if record.done}


def test_a_csv_whose_configuration_was_altered_is_refused_before_it_is_upgraded(
    tmp_path: Path,
) -> None:
    text = (OLD / "records.csv").read_text()
    (tmp_path / "r.csv").write_text(text.replace('""epochs"":2', '""epochs"":3', 1))
    with pytest.raises(StudyError, match=r"line 2: .*does not match its hash"):
        import_csv(tmp_path / "r.csv")


def test_a_store_is_upgraded_where_it_is_and_its_runs_count_as_done(store: Path) -> None:
    with Store(store) as opened:
        assert opened.notice is None
        statuses = opened.statuses()
        assert {statuses[run.key] for run in RUNS} == {"done"}
        assert (statuses[WAITING.key], statuses[CLAIMED.key]) == ("waiting", "running")
        assert list(statuses.values()).count("failed") == 1
        assert by_run(opened.records()) == written()
        assert opened.claim([*RUNS, CLAIMED, WAITING], "me") == WAITING
        opened.release("me")
        before = opened.records()
    assert [path.name for path in store.parent.iterdir()] == ["s.sqlite"]
    content = store.read_bytes()
    with Store(store) as again:
        assert again.notice is None
        assert again.records() == before
    assert store.read_bytes() == content


def test_a_store_that_is_only_read_is_not_changed(store: Path) -> None:
    content = store.read_bytes()
    with Store(store, readonly=True) as opened:
        assert by_run(opened.records()) == written()
        assert {opened.statuses()[run.key] for run in RUNS} == {"done"}
    assert store.read_bytes() == content


def test_the_events_of_a_run_follow_its_new_key(store: Path) -> None:
    Store(store).close()
    db = sqlite3.connect(store)
    found = db.execute(
        "SELECT event FROM events WHERE config_hash = ? AND seed = ? ORDER BY number", RUNS[0].key
    ).fetchall()
    db.close()
    assert found == [("claimed",), ("done",)]


def test_a_store_is_upgraded_while_another_process_has_it_open(store: Path) -> None:
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("BEGIN")
    assert other.execute("SELECT count(*) FROM runs").fetchone() == (23,)
    with Store(store) as opened:
        assert opened.notice is None
        assert by_run(opened.records()) == written()
    assert other.execute("SELECT count(chosen) FROM runs").fetchone()[0] > 0  # its snapshot
    other.execute("COMMIT")
    other.close()


# Forked from one that has imported everything, so that they come at the same moment.
AT_ONCE = """
import os, sys
from sffa.study import Store

for child in range(8):
    if os.fork() == 0:
        with Store(sys.argv[1]) as store:
            assert store.notice is None
            os.write(1, b"%d\\n" % len(store.records()))
        os._exit(0)
sys.exit(any(os.wait()[1] for child in range(8)))
"""


def test_many_processes_that_open_it_at_once_upgrade_it_once(store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, str(store)], env=environment(), stdout=subprocess.PIPE
    )
    assert (done.returncode, done.stdout.split()) == (0, [b"21"] * 8)
    assert [path.name for path in store.parent.iterdir()] == ["s.sqlite"]


def test_a_damaged_store_of_the_first_format_is_set_aside_and_its_intact_records_are_saved(
    store: Path,
) -> None:
    db = sqlite3.connect(store)
    db.execute("UPDATE runs SET acc = 99 WHERE dataset = 'digits' AND algorithm = 'bp'")
    db.commit()
    db.close()
    with Store(store) as opened:
        assert opened.notice is not None
        assert "checksum" in opened.notice
        saved = by_run(opened.records())
    lost = {key for key in written() if key[0] == "digits" and key[3] == "bp"}
    assert saved == {key: value for key, value in written().items() if key not in lost}


def test_a_run_that_stands_there_twice_is_kept_once_and_done(store: Path) -> None:
    """The same run was claimed under its key of today before the old row was brought to it."""
    (run,) = (
        r for r in RUNS if r.cell == ("digits", "static", "uniform", "ffa") and not r.key.seed
    )
    Store(store).close()
    old = {**run.values, "kernels": run.values["backend"]}
    del old["backend"]
    from sffa.record import canonical, config_hash

    db = sqlite3.connect(store)
    columns = [name for _, name, *_ in db.execute("PRAGMA table_info(runs)")]
    values = dict(
        zip(
            columns,
            db.execute("SELECT * FROM runs WHERE config_hash = ? AND seed = ?", run.key).fetchone(),
            strict=True,
        )
    )
    values |= {"config": canonical(old), "config_hash": config_hash(old)}
    values |= {"status": "waiting", "digest": None}
    marks = ", ".join("?" for _ in values)
    db.execute(f"INSERT INTO runs VALUES ({marks})", tuple(values.values()))
    db.commit()
    assert db.execute("SELECT count(*) FROM runs").fetchone() == (24,)
    db.close()
    with Store(store) as opened:
        assert opened.notice is None
        assert opened.statuses()[run.key] == "done"
        assert len(opened.statuses()) == 23


def test_what_names_a_class_that_is_not_imported_stays_as_it_is_and_imports_nothing(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ideas", raising=False)  # another test may have its own
    records = [r for r in import_csv(OLD / "records.csv") if r.method == "ideas:Nothing"]
    assert [r.config["kernels"] for r in records] == ["auto", "auto"]
    assert "ideas" not in sys.modules
    Store(store).close()
    (tmp_path / "ideas.py").write_text(
        "from sffa.continual import Strategy\n\n\nclass Nothing(Strategy):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    run = asked(STREAM, "bp", 0, method="ideas:Nothing")
    try:
        with Store(store) as opened:
            assert opened.statuses()[run.key] == "done"
    finally:
        sys.modules.pop("ideas", None)


def test_json_records_have_todays_words_and_key() -> None:
    (record,) = read_records(OLD / "continual.json")
    assert (
        record.metrics["acc"] == json.loads((OLD / "continual.json").read_text())["metrics"]["acc"]
    )
    assert record.key == asked(STREAM, "sffa", 0, method="replay").key
    old = {"scenario": "static", "metrics": {"last": 1.0, "chosen": 2.0}}
    assert from_json(old).metrics == {"last": 1.0, "val_selected": 2.0}


def test_what_the_demo_printed_is_read(tmp_path: Path) -> None:
    record = json.loads((OLD / "continual.json").read_text())
    (tmp_path / "demo.json").write_text(json.dumps({"static": [], "continual": [record, record]}))
    assert len(gather([tmp_path / "demo.json"])) == 2


def test_a_configuration_that_is_not_complete_is_left_alone() -> None:
    partial = {"dataset": "mnist", "scenario": "static", "epochs": 3}
    assert present_config(partial) == partial


def test_committed_results_count_as_done(home: Path) -> None:
    results = Path(__file__).parents[2] / "results"
    said = invoke("reproduce", "rq2", "--import", results / "rq2.csv", "--dry-run")
    count = len(import_csv(results / "rq2.csv"))
    assert f"rq2: 1080 runs, {1080 - count} missing" in said
    assert list(home.iterdir()) == []
