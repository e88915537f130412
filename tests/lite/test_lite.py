"""`sffa.lite` is the same network as the library's, and goes on where that one stopped."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sffa
from sffa import lite
from sffa.core import NetworkConfig, storage
from sffa.errors import ConfigurationError, DataError, ModelFileError
from sffa.lite.optimizer import Adam

SMALL = {"hidden": (40, 60), "k": 5, "seed": 2}
KINDS: dict[str, dict[str, Any]] = {
    "sffa": {},
    "contrast in blocks": {"objective": "contrast", "init": "block", "gate": 0.5},
    "gated, current": {"gate": 0.5, "contrast_with": "current", "activation": "relu"},
    "disjoint": {"gate": "disjoint", "planned_classes": 3, "init": "block"},
    "disjoint jointly": {"gate": "disjoint", "planned_classes": 2},
    "one-hot": {"codes": "onehot"},
    "product": {"coupling": "product", "activity": "add", "activity_norm": "l2"},
    "ffa": {"algorithm": "ffa", "scale": "mean", "norm": "rms"},
    "ffa gated by probability": {"algorithm": "ffa", "gate": 0.5, "ranking": "probability"},
}
CENTRES = np.random.default_rng(9).normal(size=(6, 7))


def batch(number: int, classes: range) -> tuple[Any, Any]:
    rng = np.random.default_rng(number)
    y = rng.choice(np.array(classes), 16)
    return (CENTRES[y] + 0.5 * rng.normal(size=(16, 7))).astype(np.float32), y


def taught(net: sffa.Network, steps: int, classes: range, **options: Any) -> sffa.Trainer:
    trainer = sffa.Trainer(net, lr=1e-2, **options)
    for number in range(steps):
        trainer.step(*batch(number, classes))
    return trainer


def furthest(net: sffa.Network, other: lite.Network) -> float:
    """Return the largest difference between the weights of two networks."""
    return max(
        float(np.abs(getattr(layer, name).detach().numpy() - block).max())
        for layer, same in zip(net.layers, other.layers, strict=True)
        for name, block in same.blocks.items()
    )


def test_the_options_and_their_defaults_are_those_of_the_library():
    ours = {field.name: field.default for field in dataclasses.fields(lite.Config)}
    theirs = {name: field.default for name, field in NetworkConfig.model_fields.items()}
    theirs |= dict.fromkeys(("activation", "activity"))  # None: by the algorithm
    assert {n: v for n, v in ours.items() if n != "inputs"} == {
        n: v for n, v in theirs.items() if n != "inputs"
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_draws_the_same_weights_codes_and_gates(kind):
    net = sffa.Network(7, classes=range(3), **SMALL, **KINDS[kind])
    same = lite.Network(7, classes=range(3), **SMALL, **KINDS[kind])
    assert furthest(net, same) == 0
    assert (net.codes.numpy() == same.codes).all()
    for layer, other in zip(net.layers, same.layers, strict=True):
        assert (layer.gate is None) == (other.own is None)
        assert layer.gate is None or (layer.gate.own.numpy() == other.own).all()


@pytest.mark.parametrize("negatives", ["all", "uniform", "hard"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_on_as_the_library_would_have_also_with_new_classes(
    kind, negatives, tmp_path: Path
):
    net = sffa.Network(7, classes=range(3), backend="torch", **SMALL, **KINDS[kind])
    net.standardise(0.1, 2.0)
    trainer = taught(net, 5, range(3), negatives=negatives)
    trainer.save(tmp_path / "m.safetensors", {"about": "toys"})
    same = lite.load(tmp_path / "m.safetensors")
    trainer.add_classes([3, 4])
    same.add_classes([3, 4])
    assert furthest(net, same) == 0
    for number in range(20):
        x, y = batch(100 + number, range(2, 5))
        loss = trainer.step(x, y)
        assert same.partial_fit(x, y).loss == pytest.approx(float(loss), rel=1e-4)
    assert furthest(net, same) < 1e-4
    x, _ = batch(7, range(5))
    assert np.abs(net.scores(x) - same.scores(x)).max() < 1e-4
    assert (net.predict(x) == same.predict(x)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_saves_the_library_reads_and_trains_on(kind, tmp_path: Path):
    small = lite.Network(7, classes=range(2), lr=1e-2, **SMALL, **KINDS[kind])
    small.standardise(np.linspace(-1, 1, 7), np.linspace(1, 2, 7))
    for number in range(3):
        small.partial_fit(*batch(number, range(4)))
    small.save(tmp_path / "m.safetensors")
    trainer = sffa.Trainer.load(tmp_path / "m.safetensors")
    assert furthest(trainer.learner, small) == 0
    assert trainer.lr == 1e-2
    x, y = batch(8, range(4))
    assert np.abs(trainer.learner.scores(x) - small.scores(x)).max() < 1e-5
    loss = float(trainer.step(x, y))
    assert small.partial_fit(x, y).loss == pytest.approx(loss, rel=1e-4)
    again = lite.load(tmp_path / "m.safetensors")
    assert again.partial_fit(x, y).loss == small.loss


def test_a_greedy_training_goes_on_with_the_layer_at_hand(tmp_path: Path):
    net = sffa.Network(7, classes=range(3), backend="torch", **SMALL)
    trainer = taught(net, 3, range(3), schedule="greedy")
    trainer.layer = 1
    trainer.save(tmp_path / "m.safetensors")
    same = lite.load(tmp_path / "m.safetensors")
    first = same.layers[0].image.copy()
    trainer.step(*batch(5, range(3)))
    same.partial_fit(*batch(5, range(3)))
    assert (same.layers[0].image == first).all()
    assert furthest(net, same) < 1e-5


def test_bytes_are_pixels_and_images_are_flattened():
    net = sffa.Network(16, hidden=(40,), k=5, classes=range(2), seed=1)
    same = lite.Network(16, hidden=(40,), k=5, classes=range(2), seed=1)
    pixels = np.random.default_rng(0).integers(0, 256, (9, 4, 4), np.uint8)
    for each in (net, same):
        each.standardise(0.3, 0.2)
    assert np.abs(net.scores(pixels) - same.scores(pixels)).max() < 1e-5


WRONG: dict[str, tuple[type[Exception], str]] = {
    "net.partial_fit(np.full((2, 7), np.nan), [0, 1])": (DataError, "example 0 .* not finite"),
    "net.partial_fit(np.ones((2, 7)), [0])": (DataError, "got 2 and 1"),
    "net.partial_fit(np.ones((2, 3)), [0, 1])": (DataError, "7 features"),
    "net.partial_fit(np.ones((2, 7)), [0.5, 1])": (DataError, "whole numbers"),
    "net.partial_fit(np.ones((2, 7)), [0, -1])": (DataError, "non-negative"),
    "net.partial_fit(np.array([['a'] * 7]), [0])": (DataError, "array of numbers"),
    "net.predict(np.full((2, 7), np.inf))": (DataError, "not finite"),
    "lite.Network(7, hidden=(41,))": (ConfigurationError, "even"),
    "lite.Network(7, hiden=(40,))": (ConfigurationError, "did you mean 'hidden'"),
    "lite.Network(7, gate='disjoint')": (ConfigurationError, "planned_classes"),
    "lite.Network(7, hidden=(40,), gate=0.1)": (ConfigurationError, "leaves a label 2"),
    "lite.Network(7, lr=-1)": (ConfigurationError, "lr must be positive"),
    "lite.Network(7, negatives='none')": (ConfigurationError, "negatives is one of"),
    "lite.Network(7, hidden=(40,), k=5).predict(np.ones((1, 7)))": (DataError, "met no class"),
    "net.standardise(0, 0)": (ConfigurationError, "std must be positive"),
}


@pytest.mark.parametrize("call", WRONG)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_wrong_is_one_line(call):
    net = lite.Network(7, classes=range(2), **SMALL)
    kind, said = WRONG[call]
    with pytest.raises(kind, match=said):
        eval(call, {"net": net, "np": np, "lite": lite})


def test_files_that_cannot_be_used_are_refused(tmp_path: Path):
    path = tmp_path / "m.safetensors"
    sffa.Backprop(7, hidden=(8,), classes=range(2)).save(path)
    with pytest.raises(ModelFileError, match="not SFFA or FFA"):
        lite.load(path)
    lite.Network(7, classes=range(2), **SMALL).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ModelFileError, match="lies outside"):
        lite.load(path)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="SHA-256 differs"):
        lite.load(path)
    path.write_bytes(whole)
    header, tensors = storage.read(path)
    values = header.model_dump()
    for change, said in (
        ({"format": float("inf")}, "OverflowError"),
        ({"classes": [0, 0]}, "listed twice"),
        ({"classes": [0, 1, 2]}, "codes of shape"),
        ({"config": {**values["config"], "hidden": [4000, 60]}}, "layer 0 has blocks"),
        ({"config": {**values["config"], "norm": []}}, "norm is one of"),
        ({"config": {**values["config"], "inputs": "7"}}, "whole number"),
        ({"trainer": {**values["trainer"], "rng": {}}}, "usable model"),
        ({"trainer": {**values["trainer"], "layer": 9}}, "layer 9 of 2"),
    ):
        storage.write(path, {**values, **change}, tensors)
        with pytest.raises(ModelFileError, match=said):
            lite.load(path)


ALONE = """
import json, sys

class NumPyAlone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {
            "torch", "numba", "scipy", "sklearn", "pydantic", "safetensors", "typer", "rich",
            "matplotlib", "jinja2", "psutil", "PIL", "platformdirs", "pandas",
        }:
            raise ImportError(name)

sys.meta_path.insert(0, NumPyAlone())
import numpy as np
from sffa import lite

net = lite.load(sys.argv[1])
x = np.load(sys.argv[2])
found = net.predict(x).tolist()
for _ in range(3):
    net.partial_fit(x, found)
net.save(sys.argv[1])
strange = sorted({n.partition(".")[0] for n in sys.modules if n not in sys.stdlib_module_names})
print(json.dumps([found, [n for n in strange if n[0] != "_"]]))
"""


def test_numpy_alone_is_enough_to_predict_learn_and_save(tmp_path: Path):
    net = sffa.Network(7, classes=range(3), **SMALL)
    taught(net, 5, range(3))
    net.save(tmp_path / "m.safetensors")
    x, _ = batch(3, range(3))
    np.save(tmp_path / "x.npy", x)
    files = [tmp_path / "m.safetensors", tmp_path / "x.npy"]
    command = [sys.executable, "-c", ALONE, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, modules = json.loads(done.stdout)
    assert found == net.predict(x).tolist()
    assert {"numpy", "sffa"} <= {*modules}
    assert not {"torch", "pydantic", "psutil", "scipy"} & {*modules}
    before = net.scores(x)
    assert (sffa.load(tmp_path / "m.safetensors").scores(x) != before).any()


def test_steps_kept_in_few_bits_are_read_without_a_warning():
    weights = np.zeros((2, 2), np.float32)
    kept = {"step": np.array(5, np.float16), "exp_avg": weights, "exp_avg_sq": weights}
    optimizer = Adam(1e-3)
    optimizer.restore("w", weights, {f"adam.{key}.w": each for key, each in kept.items()})
    assert optimizer.moments["w"].step == 5
