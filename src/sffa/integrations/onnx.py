"""ONNX: the whole label scan as one graph, for any runtime. Needs the extra ``onnx``.

The graph takes ``input`` (batch, features), float32, as `Network.scores` does: bytes have to be
divided by 255 before. It gives ``scores`` (batch, classes) and ``label`` (batch,), the best class.
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
from sffa.errors import ConfigurationError, ModelFileError
from sffa.files import replacing
from sffa.integrations.export_modules import program

_BATCH = "batch"


def export(
    learner: Learner,
    path: str | os.PathLike[str],
    *,
    class_names: Sequence[str] | None = None,
    int8: bool = False,
) -> None:
    """Write a network as an ONNX file.

    Parameters
    ----------
    learner
        A `Network` or `Backprop` that has met its classes.
    path
        Where to; written whole or not at all.
    class_names
        What the classes 0, 1, … are called, kept in the metadata.
    int8
        Keep weight matrices in eight bits, a scale for each neuron: a quarter of the size,
        computed in float32.
    """
    model = graph(learner, class_names=class_names, int8=int8)
    with replacing(path) as temporary:
        temporary.write_bytes(model.SerializeToString())


def graph(learner: Learner, *, class_names: Sequence[str] | None = None, int8: bool = False) -> Any:
    """Return the same as an ``onnx.ModelProto``.

    Its metadata hold ``classes``, the column of each class in ``scores``, and ``class_names``, as
    JSON, and ``algorithm``.
    """
    onnx = _onnx()
    scanned = program(learner)
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
    model = made.model_proto
    _strip(model)
    if int8:
        _shrink(onnx, model)
    model.producer_name, model.producer_version = "sffa", __version__
    facts = {
        "algorithm": learner.config.algorithm if isinstance(learner, Network) else "bp",
        "classes": json.dumps(learner.classes),
    }
    if class_names is not None:
        facts["class_names"] = json.dumps([str(class_names[label]) for label in learner.classes])
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model)
    return model


def check(path: str | os.PathLike[str], learner: Learner, examples: int = 64) -> float:
    """Return the largest difference between the file's scores and the learner's."""
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
