"""What a user gets wrong ends as one line on standard error and exit code 2, and loses nothing."""

from __future__ import annotations

import gzip
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import save_file
from tests.cli.conftest import Run
from tests.conftest import heed_interrupts

from sffa.core import load
from sffa.core.storage import read

TINY = ("--hidden", "40,40", "--set", "k=5", "--epochs", 1, "--batch-size", 256)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("train", "--dataset", "digit"), "did you mean 'digits'"),
        (("train", "--hidden", "401"), "odd"),
        (("train", "--hidden", "40", "--set", "k=21"), "k = 21"),
        (("train", "--hidden", "wide"), "1400,1400"),
        (("train", "--set", "gaet=0.3"), "did you mean 'gate'"),
        (("train", "--set", "gate"), "key=value"),
        (("train", "--set", "gate=2.5"), "gate must lie in"),
        (("train", "--hidden", "40", "--set", "gate=disjoint"), "fewer than its 15 winners"),
        (("train", "--algorithm", "sfffa"), "did you mean 'sffa'"),
        (
            ("train", "--algorithm", "bp", "--negatives", "hard"),
            "bp has no negatives: leave them out",
        ),
        (("train", "--lr", "-1"), "'lr' = -1.0: input should be greater than 0"),
        (("train", "--epochs", "0"), "--epochs"),
        (("train", "--epochs", "many"), "--epochs"),
        (("train", "--device", "cuda:7"), "cuda:7"),
        (
            ("train", "--backend", "fast"),
            "'backend' = 'fast': input should be",
        ),
        (("train", "--dataset", "no-such-folder/x.npz"), "no-such-folder"),
        (("train", "--resume", "nothing.safetensors"), "nothing.safetensors"),
        (("evaluate", "nothing.safetensors"), "no model file"),
        (("predict", "nothing.safetensors", "x.png"), "no model file"),
        (("demo", "--epochs", "0"), "--epochs"),
        (("bench", "--only", "sfa"), "unknown contender"),
        (("bench", "--alone", "--only", "sfa"), "unknown contender"),
        (("bench", "--seconds", "nan"), "0 or more, got nan"),
        (("bench", "--seconds", "-1"), "0 or more, got -1.0"),
        (("trian",), "trian"),
    ],
)
def test_a_wrong_argument_is_one_line(sffa: Run, arguments: tuple[str, ...], told: str) -> None:
    done = sffa(*arguments)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert told in done.err
    assert not list(Path().iterdir())


def test_pictures_that_do_not_fit_are_refused(sffa: Run, model: Path) -> None:
    Image.new("L", (9, 9)).save("large.png")
    Path("broken.png").write_bytes(b"no picture")
    Path("empty").mkdir()
    np.save("nan.npy", np.full((1, 8, 8), np.nan, np.float32))
    np.save("infinite.npy", np.full((1, 8, 8), np.inf, np.float32))
    np.save("long.npy", np.zeros((2, 65), np.float32))
    np.save("words.npy", np.array([["a"] * 64]))
    for name, told in [
        ("large.png", "8 x 8"),
        ("broken.png", "not an image"),
        ("empty", "empty folder"),
        ("nan.npy", "finite"),
        ("infinite.npy", "finite"),
        ("long.npy", "8 x 8"),
        ("words.npy", "finite numbers"),
        ("absent.png", "absent.png"),
    ]:
        done = sffa("predict", model, name)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert told in done.err


def test_data_that_cannot_be_used_is_refused(sffa: Run) -> None:
    def idx(array: np.ndarray) -> bytes:
        head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
        return head + array.astype(np.uint8).tobytes()

    images, labels = np.zeros((20, 4, 4), np.uint8), np.arange(20) % 2
    np.savez("nan.npz", x=np.full((20, 4), np.nan), y=labels)
    np.savez("long.npz", x=np.zeros((20, 4)), y=np.arange(19))
    np.savez("constant.npz", x=images, y=labels)
    Path("cut").mkdir()
    for name, content in [("images-idx3", idx(images)), ("labels-idx1", idx(labels))]:
        for part in ("train", "t10k"):
            packed = gzip.compress(content)
            Path(f"cut/{part}-{name}-ubyte.gz").write_bytes(packed[: len(packed) - 12])
    for name in ("nan.npz", "long.npz", "constant.npz", "cut"):
        done = sffa("train", *TINY, "--dataset", name)
        assert (done.code, done.err.count("\n")) == (2, 1), (name, done.err)
        assert not Path("model.safetensors").exists()


def test_model_files_that_are_not_whole_are_refused(sffa: Run, model: Path) -> None:
    content = model.read_bytes()
    Path("half.safetensors").write_bytes(content[: len(content) // 2])
    flipped = bytearray(content)
    flipped[len(content) * 3 // 4] ^= 1
    Path("flipped.safetensors").write_bytes(flipped)
    save_file({"x": load(model).codes}, "foreign.safetensors")
    header, tensors = read(model)
    text = json.dumps({**header.model_dump(), "format": 99})
    save_file(tensors, "newer.safetensors", metadata={"sffa": text, "sha256": ""})
    for name, told in [
        ("half.safetensors", "damaged"),
        ("flipped.safetensors", "SHA-256"),
        ("foreign.safetensors", "did not write it"),
        ("newer.safetensors", "update sffa"),
    ]:
        done = sffa("evaluate", name)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert told in done.err


def test_a_model_and_a_dataset_that_do_not_fit_are_refused(sffa: Run, model: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez("other.npz", x=rng.random((20, 5)).astype(np.float32), y=np.arange(20) % 2)
    assert "takes 64 features" in sffa("evaluate", model, "--dataset", "other.npz").err
    done = sffa("train", "--dataset", "other.npz", "--resume", model)
    assert done.code == 2
    assert "was trained on digits" in done.err


def test_a_place_that_cannot_be_written_is_told_before_training(sffa: Run) -> None:
    Path("file").write_text("")
    for place in ("file/model.safetensors", "/dev/null/model.safetensors", "."):
        done = sffa("train", *TINY, "--out", place)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_no_space_left_keeps_the_old_file(
    sffa: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = model.read_bytes()

    def full(*_: object, **__: object) -> None:
        with open("/dev/full", "wb") as device:
            device.write(b"x")

    monkeypatch.setattr("sffa.core.storage.save_file", full)
    done = sffa("train", *TINY)
    assert done.code == 2
    assert "No space left" in done.err.splitlines()[-1]
    assert model.read_bytes() == before
    assert not list(Path().glob(".*.tmp"))


def test_ctrl_c_leaves_the_last_checkpoint_whole(tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    command = [sys.executable, "-c", "from sffa.cli import main; main()", "train"]
    command += ["--hidden", "40,40", "--set", "k=5", "--epochs", "100000", "--out", str(out)]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        cwd=tmp_path,
        preexec_fn=heed_interrupts,
    )
    deadline = time.monotonic() + 240
    while not out.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "error: interrupted"
    assert read(out)[0].trainer["epochs_done"] >= 1
    assert not list(tmp_path.glob(".*.tmp"))
