"""ONNX: the whole label scan as one graph, for any runtime. Needs the extra ``onnx``.

The graph takes ``input`` (batch, features), float32: what `Network.scores` takes, bytes divided by
255; or what a classifier or pipeline takes, whose scaling and cutting are in the graph. It gives
``scores`` (batch, classes) and ``label`` (batch,), the best class: a number, or of a classifier the
label itself. A graph cannot refuse: an example with NaN or infinite values has NaN for scores and
-1, or of strings an empty one, for a label. `Runner` refuses it.
The batch size is free; memory is batch × classes × width, so some hundred examples are a good one.
"""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sffa._version import __version__
from sffa.core import Learner, Network
from sffa.errors import ConfigurationError, DataError, ModelFileError
from sffa.files import replacing
from sffa.integrations.export_modules import program, split_pipeline

_BATCH = "batch"
_ROWS = 256  # that a runner shows a graph at once


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    class_names: Sequence[str] | None = None,
    int8: bool = False,
) -> None:
    """Write a model as an ONNX file.

    Parameters
    ----------
    model
        A `Network` or `Backprop` that has met its classes; a fitted `SFFAClassifier` or
        `FFAClassifier`; or a pipeline of scalers that ends in one.
    path
        Where to; written whole or not at all.
    class_names
        What the classes 0, 1, … of a network are called, kept in the metadata.
    int8
        Keep weight matrices in eight bits, a scale for each neuron: a quarter of the size,
        computed in float32.

    Examples
    --------
    >>> import sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> export(net, "net.onnx")
    >>> check("net.onnx", net) < 1e-4
    True
    """
    made = graph(model, class_names=class_names, int8=int8)
    with replacing(path) as temporary:
        temporary.write_bytes(made.SerializeToString())


def graph(model: Any, *, class_names: Sequence[str] | None = None, int8: bool = False) -> Any:
    """Return the same as an ``onnx.ModelProto``.

    Its metadata hold ``classes``, the column of each class in ``scores``, and ``class_names``, as
    JSON, and ``algorithm``.

    >>> import sffa
    >>> model = graph(sffa.Network(4, hidden=(40,), k=5, classes=range(2)))
    >>> [output.name for output in model.graph.output]
    ['scores', 'label']
    """
    onnx = _onnx()
    scanned = program(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations between torch and its exporter
        made = torch.onnx.export(
            scanned,
            dynamo=True,
            input_names=["input"],
            output_names=["scores", "label"],
            verbose=False,
            optimize=False,  # its rewriting takes an addition of 1e-9 for one of zero
        )
    assert made is not None
    proto = made.model_proto
    _strip(proto)
    if int8:
        _shrink(onnx, proto)
    if not isinstance(model, Learner):
        _name_labels(onnx, proto, split_pipeline(model)[0].classes_)
    proto.producer_name, proto.producer_version = "sffa", __version__
    onnx.helper.set_model_props(proto, _facts(model, class_names))
    onnx.checker.check_model(proto)
    return proto


def _facts(model: Any, class_names: Sequence[str] | None) -> dict[str, str]:
    """Return the metadata of a graph."""
    if not isinstance(model, Learner):
        classifier = split_pipeline(model)[0]
        algorithm, classes = classifier.network_.config.algorithm, classifier.classes_.tolist()
        return {"algorithm": algorithm, "classes": json.dumps(classes)}
    facts = {
        "algorithm": model.config.algorithm if isinstance(model, Network) else "bp",
        "classes": json.dumps(model.classes),
    }
    if class_names is not None:
        facts["class_names"] = json.dumps([str(class_names[label]) for label in model.classes])
    return facts


def _name_labels(onnx: Any, model: Any, classes: Any) -> None:
    """Let the graph give the labels themselves in place of their places; -1 is the last, of none.

    Labels are strings or numbers, as those that were learned.
    """
    text = classes.dtype.kind in "USO"
    none = np.array(["" if text else -1])
    table = np.concatenate([classes.astype(object if text else classes.dtype), none])
    if not text:
        table = table.astype(np.float64 if table.dtype.kind == "f" else np.int64)
    names = onnx.numpy_helper.from_array(table.astype(object) if text else table, "label.names")
    output = model.graph.output[1]
    for node in model.graph.node:
        node.output[:] = ["label.place" if name == "label" else name for name in node.output]
    model.graph.node.append(
        onnx.helper.make_node("Gather", ["label.names", "label.place"], ["label"], axis=0)
    )
    model.graph.initializer.append(names)
    output.type.tensor_type.elem_type = names.data_type


class Runner:
    """A graph at work in onnxruntime, which refuses what a graph cannot refuse.

    Parameters
    ----------
    path
        An ONNX file that `export` wrote.

    Attributes
    ----------
    classes
        The class of each column of `scores`.

    Examples
    --------
    >>> import numpy as np
    >>> import sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> export(net, "net.onnx")
    >>> Runner("net.onnx").predict(np.eye(4, dtype=np.float32)).shape
    (4,)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        runtime = _optional("onnxruntime")
        try:
            self._session = runtime.InferenceSession(
                os.fspath(path), providers=["CPUExecutionProvider"]
            )
            facts = self._session.get_modelmeta().custom_metadata_map
            self.classes: list[Any] = json.loads(facts["classes"])
        except Exception as error:  # the runtime has kinds of its own for every trouble
            told = " ".join(str(error).split())[:200]
            raise ModelFileError(f"{path} is no graph that sffa wrote: {told}") from None
        self._features = self._session.get_inputs()[0].shape[1]

    def predict(self, x: Any) -> Any:
        """Return the label of each example (batch, features)."""
        return self._run(x)[1]

    def scores(self, x: Any) -> Any:
        """Return the scores (batch, classes)."""
        return self._run(x)[0]

    def _run(self, x: Any) -> list[Any]:
        table = np.asarray(x, dtype=np.float32)
        if table.ndim != 2 or table.shape[1] != self._features or not len(table):
            raise DataError(
                f"expected examples (batch, {self._features}), got the shape {table.shape}"
            )
        parts = [
            self._session.run(["scores", "label"], {"input": table[start : start + _ROWS]})
            for start in range(0, len(table), _ROWS)
        ]
        scores, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
        wrong = np.isnan(scores).any(axis=1)
        if wrong.any():
            raise DataError(
                f"example {int(np.argmax(wrong))} has a value that is not finite; impute or drop it"
            )
        return [scores, labels]


def check(path: str | os.PathLike[str], learner: Learner, examples: int = 64) -> float:
    """Return the largest difference between the file's scores and the learner's.

    >>> import sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> export(net, "network.onnx")
    >>> check("network.onnx", net) < 1e-4
    True
    """
    runtime = _optional("onnxruntime")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((examples, learner.inputs), dtype=np.float32)
    x = x * learner.std.cpu().numpy() + learner.mean.cpu().numpy()
    session = runtime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    scores = session.run(["scores"], {"input": x.astype(np.float32)})[0]
    return float(np.abs(scores - learner.scores(x.astype(np.float32))).max())


def _strip(model: Any) -> None:
    """Drop what the exporter notes about the machine it ran on, and name the free dimension."""
    graph = model.graph
    del model.metadata_props[:]
    for thing in (graph, *graph.node, *graph.value_info, *graph.input, *graph.output):
        del thing.metadata_props[:]
        thing.doc_string = ""
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_param = _BATCH


def _shrink(onnx: Any, model: Any) -> None:
    """Replace weight matrices (rows, neurons) by bytes and one scale a neuron."""
    multiplied = {n.input[1] for n in model.graph.node if n.op_type == "MatMul"}
    kept, added, nodes = [], [], []
    for tensor in model.graph.initializer:
        if tensor.name not in multiplied:
            kept.append(tensor)
            continue
        weight = onnx.numpy_helper.to_array(tensor)
        scale = np.maximum(np.abs(weight).max(axis=0), np.finfo(np.float32).tiny * 127) / 127
        small = np.rint(weight / scale).astype(np.int8)
        names = [f"{tensor.name}.int8", f"{tensor.name}.scale"]
        added.append(onnx.numpy_helper.from_array(small, names[0]))
        added.append(onnx.numpy_helper.from_array(scale.astype(np.float32), names[1]))
        nodes.append(onnx.helper.make_node("DequantizeLinear", names, [tensor.name], axis=1))
    if not nodes:
        raise ModelFileError("the graph holds no weight matrix to keep in eight bits")
    after = list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend([*kept, *added])
    model.graph.node.extend([*nodes, *after])


def _onnx() -> Any:
    _optional("onnxscript")
    onnx = _optional("onnx")
    for part in ("helper", "checker", "numpy_helper"):
        importlib.import_module(f"onnx.{part}")
    return onnx


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ConfigurationError(
            f"{name} is not installed; install it with pip install 'sffa[onnx]'"
        ) from None
