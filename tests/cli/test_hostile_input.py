"""Numbers, settings, names and notes that no command was made for: one line, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run

from sffa.core import storage

NINES = "9" * 30
TRAIN = ("train", "--epochs", "1", "--hidden", "40", "--set", "k=5")
QUICK = ("reproduce", "quick", "--dry-run")
SERIAL = ("reproduce", "quick", "--executor", "serial")
STREAM = ("continual", "--dataset", "digits", "--quiet")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*TRAIN, "--set", f"k={'[' * 100_000}"), "brackets"),
        ((*TRAIN, "--set", "seed=3"), "'seed' is not an option of the network"),
        ((*TRAIN, "--set", "hidden=[3]"), "'hidden' is not an option of the network"),
        ((*TRAIN, "--set", "algorithm=bp"), "'algorithm' is not an option of the network"),
        ((*TRAIN, "--set", "inputs=3"), "'inputs' is not an option of the network"),
        ((*TRAIN, "--set", "classes=[1]"), "unknown option 'classes'"),
        ((*TRAIN, "--set", "network=3"), "one by one"),
        ((*TRAIN, "--set", f"k={'9' * 5000}"), "k"),
        ((*TRAIN, "--set", "code_size=100000000000"), "GB"),
        (("train", "--hidden", "100000000"), "GB to train, this machine has"),
        (("train", "--hidden", "8" * 30), "GB to train"),
        (("train", "--algorithm", "bp", "--hidden", "900000,900000"), "GB to train"),
        (("train", "--hidden", "9" * 5000), "layer widths"),
        (("train", "--threads", "100000000"), "threads must be at most"),
        (("train", "--threads", NINES), "threads must be at most"),
        ((*TRAIN, "--device", "meta"), "device 'meta' cannot be used here"),
        ((*TRAIN, "--batch-size", NINES), "batch_size"),
        ((*TRAIN, "--size", "0x0"), "say how to read --dataset"),
        ((*TRAIN, "--target", "label"), "say how to read --dataset"),
        ((*TRAIN, "--skip-unreadable"), "say how to read --dataset"),
        ((*TRAIN, "--seed", NINES), "seed"),
        ((*TRAIN, "--epochs", NINES), "epochs"),
        ((*QUICK, "--seeds", "0-999999999999"), "more than 100,000 seeds"),
        ((*QUICK, "--seeds", NINES), "cannot read seeds"),
        ((*QUICK, "--set", f"k={'[' * 100_000}"), "brackets"),
        ((*QUICK, "--set", "epochs.k=3"), "'epochs' has no parts"),
        ((*QUICK, "--set", "scenario={}"), "unknown scenario"),
        ((*QUICK, "--workers", NINES), "workers must be at most"),
        ((*SERIAL, "--workers", "0"), "workers must be at least 1"),
        ((*SERIAL, "--threads", "-1"), "threads must be at least 1"),
        ((*SERIAL, "--threads", NINES), "threads must be at most"),
        ((*SERIAL, "--address", "here"), "an address is for the ray executor"),
        (("reproduce", "quick", "--executor", "none"), "unknown executor 'none'"),
        ((*SERIAL, "--export", "/dev/null/x.csv"), "Not a directory"),
        ((*STREAM, "--hidden", "8" * 12), "GB to train"),
        ((*STREAM, "--set", "branch=x"), "--from and --at"),
        ((*STREAM, "--method", "gaussian", "--set", f"rank={NINES}"), "'gaussian.rank' must be"),
        ((*STREAM, "--set", "class_order=[[null]]"), "class_order"),
        (("study", "check", "/etc/passwd"), "is no store of sffa; it was left as it is"),
        (("study", "check", "/dev/null"), "a character device"),
        (("report", "x" * 5000), "no records at"),
        (("analyze", "memory", "--samples", NINES), "--samples"),
        (("analyze", "memory", "--set", f"rank={NINES}"), "below 2**31"),
    ],
)
def test_what_cannot_be_is_one_short_line(sffa: Run, arguments: tuple[str, ...], told: str) -> None:
    done = sffa(*arguments)
    assert (done.code, done.err.strip().count("\n")) == (2, 0), done.err[:500]
    assert told in done.err
    assert len(done.err) < 1100
    assert not [*Path.cwd().iterdir()]  # no store of a study, no folder


@pytest.mark.parametrize(
    "notes",
    [
        {"shape": [0]},
        {"shape": "wide"},
        {"shape": [9]},
        {"shape": [10**20]},
        {"class_names": [1, 2]},
        {"class_names": ["only one"]},
        {"history": [{"number": 1}]},
        {"history": 7},
        {"dataset": 5},
    ],
)
def test_notes_that_make_no_sense_are_one_line(
    sffa: Run, model: Path, notes: dict[str, Any]
) -> None:
    header, tensors = storage.read(model)
    values = header.model_dump()
    values["notes"] |= notes
    storage.write(model, values, tensors)
    np.save("x.npy", np.zeros((1, 64), np.float32))
    done = sffa("predict", model, "x.npy")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "notes" in done.err


@pytest.mark.parametrize(
    "notes",
    [
        {"run": 3},
        {"run": {"epochs": "many"}},
        {"run": {"algorithm": "os:system"}},
        {"run": {"unknown": 1}},
        {"history": [{"number": 1, "loss": 1.0, "seconds": 1.0}]},
        {"history": [{"number": "x", "loss": None, "seconds": []}]},
    ],
)
def test_a_run_in_the_notes_that_cannot_go_on_is_one_line(sffa: Run, notes: dict[str, Any]) -> None:
    assert sffa(*TRAIN, "--keep-state").code == 0
    header, tensors = storage.read("model.safetensors")
    values = header.model_dump()
    values["notes"] |= notes
    storage.write("model.safetensors", values, tensors)
    done = sffa("train", "--resume", "model.safetensors", "--epochs", "3")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "the notes of model.safetensors cannot be used" in done.err


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"scenario": 3, "metrics": [', "nul", "[[]]", '{"seed": 1e999}', "9" * 5000],
)
def test_json_that_is_no_record_is_read_or_refused_in_one_line(sffa: Run, content: str) -> None:
    Path("r.json").write_text(content)
    done = sffa("report", "r.json", "--out", "r.html")
    assert done.code in (0, 2)
    assert done.err.count("\n") == 1


def test_half_a_letter_in_a_record_is_one_line(sffa: Run) -> None:
    Path("r.json").write_text('{"scenario": "class", "config": {"x": "\\ud800"}, "metrics": {}}')
    done = sffa("report", "r.json", "--out", "r.html")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "r.json is not JSON" in done.err


def test_records_of_odd_types_are_shown_as_far_as_they_make_sense(sffa: Run) -> None:
    odd = {"seed": 2**70, "attempts": 1e300, "metrics": {"acc": 2**2000}, "config": 3}
    Path("r.json").write_text(json.dumps([{"scenario": "static", **odd}]))
    assert sffa("report", "r.json", "--out", "r.html").code == 0
