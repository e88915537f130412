"""``sffa export``: a model file as an ONNX graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sffa.cli.models import probe_writable
from sffa.cli.notes import notes_of
from sffa.cli.options import AsJson
from sffa.core import load
from sffa.errors import ConfigurationError


def export(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="ONNX file to write.", show_default=False)],
    int8: Annotated[
        bool, typer.Option("--int8", help="Keep weights in eight bits: a quarter of the size.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a model as an ONNX graph that scans all labels."""
    from sffa.integrations import onnx

    if out.suffix != ".onnx":
        raise ConfigurationError(f"the file to write must end in .onnx, got '{out.name}'")
    probe_writable(out)
    notes = notes_of(model)
    learner = load(model)
    names = notes.names_for(learner)
    onnx.export(learner, out, class_names=names, int8=int8)
    size = out.stat().st_size
    if as_json:
        print(json.dumps({"model": str(model), "out": str(out), "bytes": size, "int8": int8}))
    else:
        classes = len(learner.classes)
        print(f"{out}: {size / 2**20:.1f} MB, {learner.inputs} features, {classes} classes")
