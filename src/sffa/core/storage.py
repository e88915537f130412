"""Model files: safetensors with a JSON header and a checksum of everything; nothing in them runs.

This file knows tensors and headers only; `Learner.save` and `Trainer.save` say what goes in.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, Field, ValidationError, model_validator
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sffa.core.training_state import said
from sffa.errors import ModelFileError
from sffa.files import replacing

FORMAT = 1
MAIN = "network.safetensors"
"""The file of a folder of layers that has everything but those that wait (`core/offload.py`)."""
Path_ = str | os.PathLike[str]
_Natural = Annotated[int, Field(ge=0, lt=2**63, strict=True)]


class Header(BaseModel):
    """What a model file says beside its tensors; checked before anything is made of it."""

    format: int
    kind: str
    config: dict[str, Any]
    classes: list[_Natural]
    tasks: dict[Annotated[str, Field(pattern=r"^[0-9]{1,18}$")], list[_Natural]]
    current: list[_Natural]
    notes: dict[str, Any] = {}
    trainer: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Header:
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("a class is listed twice")
        columns = [*self.current, *(c for columns in self.tasks.values() for c in columns)]
        if any(column >= len(self.classes) for column in columns):
            raise ValueError("a column lies beyond the classes")
        if not all(self.tasks.values()):
            raise ValueError("a task has no classes")
        return self


def write(path: Path_, header: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write a model file, whole or not at all."""
    tensors = _apart({name: value.contiguous() for name, value in tensors.items()})
    text = json.dumps({"format": FORMAT, **header}, sort_keys=True)
    metadata = {"sffa": text, "sha256": _digest(text, tensors)}
    try:
        with replacing(path) as temporary:
            save_file(tensors, temporary, metadata=metadata)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"cannot write a model to {path}: {error}") from None


def read(path: Path_) -> tuple[Header, dict[str, Tensor]]:
    """Read and verify a model file, or the main one of a folder: its header and its tensors."""
    metadata, tensors = _content(path)
    if "sffa" not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but sffa did not write it")
    text = metadata["sffa"]
    try:
        values = json.loads(text)
        version = int(values["format"])
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise ModelFileError(f"{path} is damaged: its header cannot be read") from None
    if version > FORMAT:
        raise ModelFileError(
            f"{path} has format {version}, this sffa reads up to {FORMAT}: update sffa"
        )
    if metadata.get("sha256") != (found := _digest(text, tensors)):
        raise ModelFileError(
            f"{path} is damaged: its content has SHA-256 {found}, "
            f"but {metadata.get('sha256')} was written"
        )
    try:
        return Header(**values), tensors
    except (ValidationError, TypeError) as error:
        raise ModelFileError(f"{path} does not hold a usable model: {said(error)}") from None


def mapped(path: Path_) -> dict[str, Tensor]:
    """Return the tensors of a file without reading or verifying them: pages come when used."""
    return _content(path)[1]


def _content(path: Path_) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Return what a safetensors file says of itself, and its tensors, mapped."""
    try:
        if Path(path).is_dir():
            path = Path(path) / MAIN
        there = Path(path).is_file()
    except (OSError, ValueError):
        there = False
    if not there:
        raise ModelFileError(f"no model file at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return file.metadata() or {}, tensors
    except (SafetensorError, ValueError, OSError) as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {error}") from None


def _apart(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Copy tensors that share their memory with one before them, which safetensors refuses."""
    seen: set[int] = set()
    apart = {}
    for name, value in tensors.items():
        place = value.untyped_storage().data_ptr()
        apart[name] = value.clone() if place in seen else value
        seen.add(place)
    return apart


def _digest(header: str, tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of header, names, types, shapes and bytes."""
    total = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
