"""Exported graphs compute what the network computes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import sffa
from sffa.cli.export import export as export_command
from sffa.data import load as load_data
from sffa.errors import ConfigurationError, DataError, DownloadError, ModelFileError
from sffa.integrations.export_modules import plain, program

pytest.importorskip("onnxscript", reason="the extra onnx is not installed")
onnx_file = pytest.importorskip("onnx", reason="the extra onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

from sffa.integrations import onnx  # noqa: E402

KINDS: dict[str, dict[str, Any]] = {
    "sffa": {},
    "gated relu": {"gate": 0.5, "activation": "relu", "norm": "rms"},
    "disjoint literal": {"gate": "disjoint", "k": 4, "norm": "literal"},
    "by odds": {"ranking": "odds"},
    "ffa": {"algorithm": "ffa"},
    "ffa by probability": {"algorithm": "ffa", "ranking": "probability"},
    "ffa gated one-hot": {"algorithm": "ffa", "gate": 0.5, "codes": "onehot"},
}


def make(**options: Any) -> sffa.Network:
    """Make a small network that has taken a few steps, its classes in no order."""
    network = sffa.Network(12, classes=[3, 0, 7], **{"hidden": (60, 80), "k": 5, **options})
    network.standardise(torch.linspace(-1, 1, 12), torch.linspace(0.5, 3, 12))
    trainer = sffa.Trainer(network, lr=1e-2)
    x, y = inputs(90), np.tile([3, 0, 7], 30)
    for _ in range(5):
        trainer.step(x, y)
    return network


def inputs(count: int) -> Any:
    return np.random.default_rng(1).normal(size=(count, 12)).astype(np.float32)


def run(path: Path, x: Any) -> Any:
    return runtime.InferenceSession(path).run(["scores", "label"], {"input": x})


@pytest.mark.parametrize("kind", KINDS)
def test_the_plain_module_agrees_with_the_network(kind: str) -> None:
    network, x = make(**KINDS[kind]), torch.from_numpy(inputs(40))
    scores, labels = plain(network)(x)
    assert torch.allclose(scores, network.scores(x), atol=1e-5)
    assert (labels == network.predict(x)).all()


@pytest.mark.parametrize("kind", ["gated relu", "sffa", "ffa"])
def test_onnxruntime_agrees_with_the_network_for_any_batch(kind: str, tmp_path: Path) -> None:
    network = make(**KINDS[kind])
    onnx.export(network, tmp_path / "m.onnx")
    for count in (1, 3, 40):
        scores, labels = run(tmp_path / "m.onnx", inputs(count))
        assert np.abs(scores - network.scores(inputs(count))).max() < 1e-5
        assert (labels == network.predict(inputs(count))).all()
    assert onnx.check(tmp_path / "m.onnx", network) < 1e-5


def test_layers_near_rest_keep_the_epsilon_of_the_goodness(tmp_path: Path) -> None:
    network = make()
    with torch.no_grad():
        for layer in network.layers:
            layer.bias -= 18
    onnx.export(network, tmp_path / "m.onnx")
    scores, _ = run(tmp_path / "m.onnx", inputs(40))
    assert np.abs(scores - network.scores(inputs(40))).max() < 1e-4


def test_the_baseline_is_exported_too(tmp_path: Path) -> None:
    network = sffa.Backprop(12, hidden=(16,), classes=[2, 5])
    onnx.export(network, tmp_path / "m.onnx")
    scores, labels = run(tmp_path / "m.onnx", inputs(9))
    assert np.allclose(scores, network.scores(inputs(9)), atol=1e-5)
    assert (labels == network.predict(inputs(9))).all()
    tasks = sffa.Backprop(12, hidden=(16,))
    tasks.add_classes([0, 1], task=0)
    with pytest.raises(ConfigurationError, match="one head a task"):
        onnx.export(tasks, tmp_path / "m.onnx")


def test_torch_export_leaves_the_batch_free() -> None:
    network = make(gate=0.5)
    exported = program(network).module()
    for count in (1, 17):
        x = torch.from_numpy(inputs(count))
        assert torch.allclose(exported(x)[0], network.scores(x), atol=1e-5)


def test_metadata_name_the_classes_and_nothing_of_the_machine(tmp_path: Path) -> None:
    names = [f"name {label}" for label in range(8)]
    make().save(tmp_path / "m.safetensors", notes={"class_names": names})
    export_command(tmp_path / "m.safetensors", tmp_path / "m.onnx")
    facts = runtime.InferenceSession(tmp_path / "m.onnx").get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == [3, 0, 7]
    assert json.loads(facts["class_names"]) == ["name 3", "name 0", "name 7"]
    assert facts["algorithm"] == "sffa"
    assert b".py" not in (tmp_path / "m.onnx").read_bytes()


def test_eight_bits_are_a_fraction_of_the_size_and_keep_the_predictions(tmp_path: Path) -> None:
    network = make(hidden=(400, 400))
    onnx.export(network, tmp_path / "float.onnx")
    onnx.export(network, tmp_path / "int8.onnx", int8=True)
    sizes = [(tmp_path / name).stat().st_size for name in ("float.onnx", "int8.onnx")]
    assert sizes[1] < 0.4 * sizes[0]
    _, labels = run(tmp_path / "int8.onnx", inputs(200))
    assert (labels == network.predict(inputs(200))).mean() > 0.95


def test_a_network_without_classes_is_refused(tmp_path: Path) -> None:
    sffa.Network(12, hidden=(60,)).save(tmp_path / "m.safetensors")
    with pytest.raises(ModelFileError, match="met no class yet: train it"):
        export_command(tmp_path / "m.safetensors", tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_files_of_others_and_other_endings_are_refused(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="sffa did not write it"):
        export_command(tmp_path / "other.safetensors", tmp_path / "m.onnx")
    with pytest.raises(ModelFileError, match="no model file"):
        export_command(tmp_path / "none.safetensors", tmp_path / "m.onnx")
    with pytest.raises(ConfigurationError, match=r"must end in \.onnx"):
        export_command(tmp_path / "other.safetensors", tmp_path / "m.pt")


SCALERS: dict[str, Any] = {
    "alone": [],
    "standard": [StandardScaler()],
    "standard without mean": [StandardScaler(with_mean=False)],
    "min and max, cut": [MinMaxScaler(clip=True)],
    "robust, then largest": [RobustScaler(), "passthrough", MaxAbsScaler()],
}


def table(rows: int, outliers: bool) -> tuple[Any, Any]:
    """Return examples of four classes, some of them far out."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 4, rows)
    x = np.random.default_rng(4).normal(size=(4, 6))[y] * 2 + rng.normal(size=(rows, 6))
    if outliers:
        far = rng.random(x.shape) < 0.1
        x = np.where(far, x * 10.0 ** rng.integers(1, 9, x.shape), x)
    return x.astype(np.float32), y


def fitted(steps: Sequence[Any], labels: Any, **options: Any) -> Any:
    x, y = table(400, outliers=False)
    chosen = {"hidden": (60, 60), "epochs": 5, "network": {"k": 5}, "random_state": 0, **options}
    return make_pipeline(*steps, sffa.SFFAClassifier(**chosen)).fit(x, np.asarray(labels)[y])


def labels_of(model: Any, x: Any) -> Any:
    """Return what the module that is exported says of examples, by the classifier's names."""
    classes = model[-1].classes_ if hasattr(model, "steps") else model.classes_
    return classes[plain(model)(torch.from_numpy(x))[1].numpy()]


@pytest.mark.parametrize("steps", SCALERS)
def test_the_module_of_a_pipeline_agrees_on_rows_with_outliers(steps: str) -> None:
    pipeline = fitted(SCALERS[steps], ["pear", "apple", "fig", "date"])
    x, _ = table(1000, outliers=True)
    assert (labels_of(pipeline, x) == pipeline.predict(x)).all()


def test_classes_met_later_stand_where_the_classifier_has_them() -> None:
    x, y = table(400, outliers=False)
    classifier = sffa.SFFAClassifier(
        hidden=(60,), epochs=2, network={"k": 5}, standardise=False, random_state=0
    )
    names = np.array(["d", "c", "b", "a"])[y]
    for part in (y < 2, y >= 2):
        classifier.partial_fit(x[part], names[part])
    assert (labels_of(classifier, x) == classifier.predict(x)).all()


def test_the_graph_of_a_pipeline_with_string_classes_equals_predict(tmp_path: Path) -> None:
    pipeline = fitted([SimpleImputer(), StandardScaler()], ["pear", "apple", "fig", "date"])
    onnx.export(pipeline, tmp_path / "m.onnx")
    runner = onnx.Runner(tmp_path / "m.onnx")
    assert runner.classes == ["apple", "date", "fig", "pear"]
    x, _ = table(10_000, outliers=True)
    assert (runner.predict(x) == pipeline.predict(x)).all()
    x[::3, 1] = np.nan  # imputed
    assert (runner.predict(x[:300]) == pipeline.predict(x[:300])).all()
    x[4, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        pipeline.predict(x[:9])
    with pytest.raises(DataError, match="example 4 has a value that is not finite"):
        runner.predict(x[:9])
    with pytest.raises(DataError, match=r"expected examples \(batch, 6\)"):
        runner.predict(np.ones((2, 5)))
    scores, labels = run(tmp_path / "m.onnx", x[:9])
    assert np.isnan(scores).all(axis=1).tolist() == [row == 4 for row in range(9)]
    assert (labels == "").tolist() == [row == 4 for row in range(9)]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_and_marked_in_the_graph(value: Any, tmp_path: Path) -> None:
    classifier = fitted([], [7, 3, 5, 4])[-1]
    x, _ = table(500, outliers=True)
    x[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        classifier.predict(x)
    for model in (classifier, classifier.network_):
        scores, labels = plain(model)(torch.from_numpy(x[:5]))
        assert scores.isnan().all(dim=1).tolist() == [False, False, False, True, False]
        assert (labels == -1).tolist() == [False, False, False, True, False]
    if np.isnan(value):
        onnx.export(classifier, tmp_path / "m.onnx")
        runner = onnx.Runner(tmp_path / "m.onnx")
        with pytest.raises(DataError, match="example 3 has a value that is not finite"):
            runner.predict(x)
        x = np.delete(x, 3, axis=0)
        assert (runner.predict(x) == classifier.predict(x)).all()


def test_what_cannot_be_exported_is_named(tmp_path: Path) -> None:
    pipeline = fitted([PCA(3)], [0, 1, 2, 3])
    with pytest.raises(ConfigurationError, match=r"the step PCA .* cannot be exported"):
        onnx.export(pipeline, tmp_path / "m.onnx")
    for model in (sffa.SFFAClassifier(), PCA(), make_pipeline(StandardScaler())):
        with pytest.raises(ConfigurationError, match="expected a network, or a fitted"):
            onnx.export(model, tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelFileError, match="no graph that sffa wrote"):
        onnx.Runner(tmp_path / "m.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["sffa", "ffa"])
def test_all_mnist_test_images_score_the_same(algorithm: str, tmp_path: Path) -> None:
    try:
        data = load_data("mnist", download=False)
    except DownloadError as error:
        pytest.skip(f"MNIST is not on this machine: {error}")
    network = sffa.Network(784, hidden=(200, 200), algorithm=algorithm, classes=range(10))
    network.standardise(data.mean, data.std)
    sffa.Trainer(network, lr=3e-3).fit(data.train.flat[:6000], data.train.y[:6000])
    onnx.export(network, tmp_path / "m.onnx")
    x = data.test.flat.astype(np.float32) / 255
    parts = [run(tmp_path / "m.onnx", x[start : start + 1000]) for start in range(0, 10_000, 1000)]
    scores, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    differences = np.abs(scores - network.scores(x))
    # Where two drives tie to the last bit for the last winner, either may win.
    assert (differences > 1e-5).sum() <= 10
    assert differences.max() < 1e-3
    assert (labels == network.predict(x)).all()
