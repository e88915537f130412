"""Model files and checkpoints that a stranger wrote, with a checksum that fits: one line each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.continual.toy import StopAt, small, toy

import sffa
from sffa.continual import Stopped, run
from sffa.core import storage
from sffa.errors import ModelFileError

Change = Callable[[dict[str, Any], dict[str, torch.Tensor]], object]


def rewritten(path: Path, change: Change) -> None:
    """Change header and tensors of a model file, and write it anew with its checksum."""
    header, tensors = storage.read(path)
    values = header.model_dump()
    change(values, tensors)
    storage.write(path, values, tensors)


def put(*place: str, value: Any) -> Change:
    def change(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        inner: Any = header
        for name in place[:-1]:
            inner = inner[name]
        inner[place[-1]] = value

    return change


def tensor(name: str, value: torch.Tensor | None) -> Change:
    def change(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        del tensors[name]
        if value is not None:
            tensors[name] = value

    return change


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    net = sffa.Network(4, hidden=(40, 40), k=5, classes=range(3), backend="torch")
    trainer = sffa.Trainer(net)
    trainer.step(np.eye(4), np.array([0, 1, 2, 0]))
    trainer.save(tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


@pytest.mark.parametrize(
    "change",
    [
        put("format", value=math.inf),
        put("format", value=math.nan),
        put("format", value="1e9"),
        put("trainer", "lr", value="fast"),
        put("trainer", "lr", value=math.inf),
        put("trainer", "lr", value=None),
        put("trainer", "negatives", value="some"),
        put("trainer", "schedule", value=[]),
        put("trainer", "seed", value=-1),
        put("trainer", "seed", value=2**80),
        put("trainer", "layer", value=7),
        put("trainer", "layer", value="0"),
        put("trainer", "epochs_done", value=math.inf),
        put("trainer", "epochs_done", value="many"),
        put("trainer", "rng", value={}),
        put("trainer", "rng", value=[]),
        put("trainer", "rng", "state", value={"state": -1, "inc": 1}),
        put("trainer", "rng", "bit_generator", value="MT19937"),
        put("trainer", value={}),
        put("classes", value=["a", 1, 2]),
        put("classes", value=[0, 1, 2**70]),
        put("tasks", value={"0": []}),
        put("tasks", value={"9" * 30: [0]}),
        put("config", "hidden", value=[40, 10**9]),
        put("config", "hidden", value=[10**9, 10**9]),
        put("config", "code_size", value=10**12),
        put("config", "hidden", value="wide"),
        put("config", "inputs", value=10**12),
        tensor("codes", torch.zeros(3, 100, dtype=torch.float64)),
        tensor("codes", torch.zeros(3, 100, dtype=torch.uint8)),
        tensor("adam.step.layers.0.image", torch.zeros(3)),
        tensor("adam.exp_avg.layers.0.image", torch.zeros(1)),
        tensor("adam.exp_avg.layers.0.image", torch.zeros(4, 40, dtype=torch.int64)),
        tensor("adam.exp_avg_sq.layers.0.image", None),
    ],
)
def test_a_header_that_makes_no_sense_is_one_line(saved: Path, change: Change) -> None:
    rewritten(saved, change)
    with pytest.raises(ModelFileError, match=r"m\.safetensors") as found:
        sffa.Trainer.load(saved)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 600


def test_weights_between_layers_are_not_asked_for_before_they_are_found(tmp_path: Path) -> None:
    """Two layers 100,000 wide on one input: the file has 1 MB, what lies between has 40 GB."""
    sffa.Network(1, hidden=(40, 40), k=5, classes=range(2)).save(tmp_path / "m.safetensors")

    def widen(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        header["config"]["hidden"] = [100_000, 100_000]
        for number in (0, 1):
            tensors[f"layers.{number}.image"] = torch.zeros(1, 100_000)

    rewritten(tmp_path / "m.safetensors", widen)
    with pytest.raises(ModelFileError, match="needs more than the"):
        sffa.load(tmp_path / "m.safetensors")


def test_a_head_that_does_not_go_with_its_task_is_refused(tmp_path: Path) -> None:
    net = sffa.Backprop(4, hidden=(8,))
    net.add_classes([0, 1], task=0)
    net.save(tmp_path / "m.safetensors")
    for tasks in ({"0": [0]}, {"0": [0, 1], "1": [0]}):
        rewritten(tmp_path / "m.safetensors", put("tasks", value=tasks))
        with pytest.raises(ModelFileError, match="no such head"):
            sffa.load(tmp_path / "m.safetensors")


def test_the_number_of_a_task_may_be_large() -> None:
    net = sffa.Network(4, hidden=(40,), k=5, backend="torch")
    net.add_classes([0, 1], task=10**15)
    assert net.scores(torch.ones(2, 4), 10**15).shape == (2, 2)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("rows",), "none"),
        (("rows",), []),
        (("rows",), [[1.0]]),
        (("rows",), [[math.nan, 1.0, 2.0]]),
        (("per_class",), [[1]]),
        (("per_class",), {"a": 1}),
        (("position",), {}),
        (("position",), {"experience": 99}),
        (("position",), {"experience": -1}),
        (("position",), {"epoch": "x"}),
        (("position",), {"unknown": 1}),
        (("experiences",), [{}]),
        (("experiences",), 3),
        (("seconds",), None),
        (("peak_memory_mb",), math.inf),
        (("continual",), []),
        (("continual", "config"), 3),
        (("continual", "data"), "x"),
    ],
)
def test_a_checkpoint_that_makes_no_sense_is_one_line(
    tmp_path: Path, place: tuple[str, ...], value: Any
) -> None:
    path = tmp_path / "c.safetensors"
    with pytest.raises(Stopped):
        run(small("bp", method="ewc"), toy(), checkpoint=path, callbacks=[StopAt(9)])
    rewritten(path, put("notes", *place, value=value))
    with pytest.raises(ModelFileError, match="holds a run that cannot go on") as found:
        run(small("bp", method="ewc"), toy(), checkpoint=path)
    assert "\n" not in str(found.value)


def test_importance_of_another_shape_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    with pytest.raises(Stopped):
        run(small("bp", method="ewc"), toy(), checkpoint=path, callbacks=[StopAt(20)])
    name = next(n for n in storage.read(path)[1] if n.startswith("extra.parameter_state"))
    rewritten(path, tensor(name, torch.zeros(2, 2)))
    with pytest.raises(ModelFileError, match=r"has the shape \(2, 2\)"):
        run(small("bp", method="ewc"), toy(), checkpoint=path)


def test_a_header_nested_without_end_is_one_line(tmp_path: Path) -> None:
    metadata = {"sffa": "[" * 100_000, "sha256": ""}
    save_file({"x": torch.zeros(1)}, tmp_path / "m.safetensors", metadata=metadata)
    with pytest.raises(ModelFileError, match="header cannot be read"):
        sffa.load(tmp_path / "m.safetensors")
    assert json.dumps(metadata)
