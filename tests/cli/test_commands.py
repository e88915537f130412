"""What the commands do when all goes well."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.cli.conftest import Run
from typer.core import TyperCommand

from sffa.cli.train import Training
from sffa.core import Epoch, Progress, load
from sffa.data import load as load_data
from sffa.errors import SFFAWarning

TINY = ("--hidden", "40,40", "--set", "k=5", "--batch-size", 256)


def test_train_writes_model_metrics_and_curve(sffa: Run) -> None:
    done = sffa("train", *TINY, "--epochs", 2, "--json")
    summary = json.loads(done.out)
    assert done.code == 0
    assert load("model.safetensors").config.hidden == (40, 40)
    assert json.loads(Path("model.metrics.json").read_text()) == summary
    assert [epoch["epoch"] for epoch in summary["curve"]] == [1, 2]
    assert summary["environment"]["version"]
    assert {*summary["hoyer"]} == {"positive", "negative"}
    [kept] = Path("runs").glob("digits-static-all-sffa-0-*.json")
    assert json.loads(kept.read_text())["metrics"] == summary["metrics"]
    with Image.open("model.curve.png") as picture:
        assert picture.width > 400


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("schedule", ["online", "greedy"])
@pytest.mark.parametrize("cut", [1, 2])
def test_an_interrupted_training_resumes_to_the_weights_of_an_undisturbed_one(
    sffa: Run, monkeypatch: pytest.MonkeyPatch, schedule: str, cut: int, backend: str
) -> None:
    settings = (*TINY, "--schedule", schedule, "--epochs", 2, "--backend", backend)
    sffa("train", *settings, "--out", "whole.safetensors")

    whole_epoch = Training.on_epoch_end

    def interrupted(self: Training, progress: Progress, epoch: Epoch) -> None:
        whole_epoch(self, progress, epoch)
        if epoch.number == cut:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "on_epoch_end", interrupted)
        ended = sffa("train", *settings, "--out", "part.safetensors")
        assert (ended.code, ended.err.splitlines()[-1]) == (130, "error: interrupted")
    done = sffa("train", "--resume", "part.safetensors")
    if (schedule, cut) == ("online", 2):
        assert "nothing to do" in done.err
        return
    assert done.code == 0, done.err
    whole, resumed = load("whole.safetensors"), load("part.safetensors")
    for name, value in whole.state_dict().items():
        assert value.equal(resumed.state_dict()[name]), name


def test_a_stream_s_name_stands_for_its_dataset(sffa: Run) -> None:
    assert sffa("train", *TINY, "--epochs", 1, "--dataset", "split-digits").code == 0
    assert json.loads(sffa("evaluate", "model.safetensors", "--json").out)["dataset"] == "digits"


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_layers_in_a_folder_resume_to_the_weights_of_training_in_memory(
    sffa: Run, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    settings = (*TINY, "--schedule", "greedy", "--epochs", 2)
    sffa("train", *settings, "--out", "whole.safetensors")
    whole_epoch = Training.on_epoch_end

    def interrupted(self: Training, progress: Progress, epoch: Epoch) -> None:
        whole_epoch(self, progress, epoch)
        if epoch.number == cut:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "on_epoch_end", interrupted)
        ended = sffa("train", *settings, "--offload", "layers")
        assert (ended.code, ended.err.splitlines()[-1]) == (130, "error: interrupted")
    assert not Path("model.safetensors").exists()
    done = sffa("train", "--resume", "layers", "--json")
    assert done.code == 0, done.err
    assert [point["epoch"] for point in json.loads(done.out)["curve"]] == [1, 2, 3, 4]
    whole, resumed = load("whole.safetensors"), load("model.safetensors")
    for name, value in whole.state_dict().items():
        assert value.equal(resumed.state_dict()[name]), name
    one, folder = (
        sffa("evaluate", "model.safetensors", "--json"),
        sffa("evaluate", "layers", "--json"),
    )
    assert json.loads(one.out)["accuracy"] == json.loads(folder.out)["accuracy"]


def test_what_cannot_be_offloaded_leaves_no_folder(sffa: Run) -> None:
    for wrong in (("--schedule", "online"), ("--schedule", "greedy", "--algorithm", "ffa")):
        done = sffa("train", *TINY, *wrong, "--offload", "layers")
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert not Path("layers").exists()


def test_a_checkpoint_is_not_resumed_with_other_batches(sffa: Run, model: Path) -> None:
    before = model.read_bytes()
    done = sffa("train", "--resume", model, "--epochs", 9, "--batch-size", 7)
    assert done.code == 2
    assert "was begun with batches of" in done.err
    assert model.read_bytes() == before


def test_a_model_finds_the_data_of_ones_own_again(
    sffa: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a dataset of the registry has the same name as the file."""
    rng = np.random.default_rng(0)
    np.savez("digits.npz", x=rng.random((50, 5)).astype(np.float32), y=np.arange(50) % 2)
    small = ("--hidden", "40", "--set", "k=3", "--epochs", 1)
    assert sffa("train", "--dataset", "digits.npz", *small, "--keep-state").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = json.loads(sffa("evaluate", "../model.safetensors", "--json").out)
    assert found["examples"] < 50
    assert sffa("train", "--resume", "../model.safetensors", "--epochs", 2).code == 0


def test_evaluate_repeats_the_accuracy_that_training_reported(sffa: Run, model: Path) -> None:
    trained = json.loads(Path("model.metrics.json").read_text())["metrics"]["last"]
    found = json.loads(sffa("evaluate", model, "--json").out)
    assert found["accuracy"] == pytest.approx(trained)
    assert len(found["layers"]) == 2
    assert len(found["classes"]) == 10


def test_predict_takes_images_folders_and_arrays_alike(sffa: Run, model: Path) -> None:
    test = load_data("digits").test
    Path("pictures").mkdir()
    for number in range(3):
        Image.fromarray(test.x[number]).save(f"pictures/{number}.png")
    np.save("bytes.npy", test.x[:3])
    np.save("floats.npy", test.x[:3].astype(np.float32) / 255)
    wanted = [str(label) for label in load(model).predict(test.flat[:3])]
    for source in ("pictures", "bytes.npy", "floats.npy"):
        found = json.loads(sffa("predict", model, source, "--json").out)
        assert [row["class"] for row in found] == wanted
        assert all(len(row["layers"]) == 2 for row in found)


def test_predict_and_evaluate_take_tables_as_training_did(sffa: Run) -> None:
    lines = [f"{n},{('low', 'high')[n > 20]},{('no', 'yes')[n > 20]}" for n in range(40)]
    Path("t.csv").write_text("\n".join(["n,size,kind", *lines]))
    small = ("--hidden", "20,20", "--set", "k=4", "--epochs", 20, "--batch-size", 8, "--lr", 0.01)
    sffa("train", "--dataset", "t.csv", "--target", "kind", *small)
    Path("later.csv").write_text("size,n\nlow,3\nhigh,38\n")
    found = json.loads(sffa("predict", "model.safetensors", "later.csv", "--json").out)
    assert [(row["input"], row["class"]) for row in found] == [
        ("later.csv[0]", "no"),
        ("later.csv[1]", "yes"),
    ]
    Path("other.csv").write_text(Path("t.csv").read_text().replace("low", "tiny"))
    refused = sffa("evaluate", "model.safetensors", "--dataset", "other.csv#target=kind")
    assert refused.code == 2
    assert "not those of the model's table" in refused.err


def test_predict_takes_whole_numbers_of_any_type_as_the_pixels_that_were_learned(sffa: Run) -> None:
    data = load_data("digits")
    np.savez("whole.npz", x=data.train.flat.astype(np.int64), y=data.train.y)
    sffa("train", "--dataset", "whole.npz", "--hidden", "60", "--set", "k=4", "--epochs", 1)
    np.save("bytes.npy", data.test.flat[:5])
    np.save("whole.npy", data.test.flat[:5].astype(np.int64))
    one, other = (
        [row["score"] for row in json.loads(sffa("predict", "model.safetensors", f, "--json").out)]
        for f in ("bytes.npy", "whole.npy")
    )
    assert one == other


def test_predict_turns_colour_pictures_to_gray_for_a_gray_model(sffa: Run, model: Path) -> None:
    pixels = load_data("digits").test.x[0]
    Image.fromarray(pixels).save("gray.png")
    Image.fromarray(pixels).convert("RGB").save("colour.png")
    gray, colour = json.loads(sffa("predict", model, "gray.png", "colour.png", "--json").out)
    assert gray["class"] == colour["class"]
    assert gray["score"] == pytest.approx(colour["score"], abs=1e-6)


def test_set_reaches_every_field_of_the_network(sffa: Run) -> None:
    done = sffa("train", *TINY, "--epochs", 1, "--set", "gate=disjoint", "--set", "k=2", "--json")
    assert json.loads(done.out)["config"]["network"] == {"gate": "disjoint", "k": 2}
    assert load("model.safetensors").config.planned_classes == 10


def test_every_option_of_every_command_has_help_with_its_default(sffa: Run) -> None:
    import typer

    from sffa.cli.app import app

    def options(command: object, path: str) -> list[str]:
        inner = getattr(command, "commands", {})
        lacking = [bad for name, sub in inner.items() for bad in options(sub, f"{path} {name}")]
        for parameter in getattr(command, "params", []):
            if not getattr(parameter, "help", None):
                lacking.append(f"{path} {parameter.name}")
        return lacking

    assert options(typer.main.get_command(app), "sffa") == []


def test_version_is_shown(sffa: Run) -> None:
    from sffa import __version__

    assert sffa("--version").out.strip() == f"sffa {__version__}"


@pytest.mark.parametrize("group", [(), ("analyze",), ("study",), ("data",)])
def test_a_group_without_a_command_prints_its_help_and_no_error(
    sffa: Run, group: tuple[str, ...]
) -> None:
    done = sffa(*group)
    assert done.code == 2
    assert "Usage" in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    ("trouble", "code", "said"),
    [
        (OSError(28, "No space left on device", "model"), 2, "error: model: No space left on"),
        (OSError("something else"), 2, "error: something else"),
        (MemoryError(), 2, "error: there is not enough memory"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
    ],
)
def test_what_the_machine_refuses_is_one_line(
    sffa: Run, monkeypatch: pytest.MonkeyPatch, trouble: BaseException, code: int, said: str
) -> None:
    def fail(*_: object) -> None:
        raise trouble

    monkeypatch.setattr(TyperCommand, "invoke", fail)
    done = sffa("train")
    assert done.code == code
    assert done.err.strip().startswith(said)
    assert "\n" not in done.err.strip()


def test_warnings_of_ours_are_one_line_and_others_tell_their_place(
    sffa: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def warn(*_: object) -> None:
        warnings.warn("of ours", SFFAWarning, stacklevel=1)
        warnings.warn("of others", UserWarning, stacklevel=1)

    monkeypatch.setattr(TyperCommand, "invoke", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        done = sffa("train")
    ours, others = done.err.splitlines()
    assert ours == "warning: of ours"
    assert re.fullmatch(r".*test_commands\.py:\d+: UserWarning: of others", others)


def test_an_error_is_told_where_nobody_reads_the_output_any_more(
    sffa: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

        def fileno(self) -> int:
            return output.fileno()

    with (tmp_path / "output").open("w") as output:
        monkeypatch.setattr(sys, "stdout", Closed())
        done = sffa("train", "--epochs", "ten")
    assert done.code == 2
    assert "Invalid value for '--epochs'" in done.err
