"""Model files: safetensors with a JSON header and a sum over everything; nothing in them runs."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from sffa.core.backprop import Backprop
from sffa.core.learner import Learner
from sffa.core.network import Network
from sffa.core.trainer import Trainer
from sffa.errors import ModelFileError, SFFAError
from sffa.files import replacing

FORMAT = 1
_BESIDE = ("adam", "extra")


def save(
    path: str | os.PathLike[str],
    learner: Learner,
    trainer: Trainer | None = None,
    notes: dict[str, Any] | None = None,
    extra: dict[str, Tensor] | None = None,
) -> None:
    """Write a learner, the trainer's state when given, and what the caller keeps beside them.

    ``notes`` are JSON-ready; ``extra`` are tensors by name.
    """
    if type(learner) not in (Network, Backprop):
        raise ModelFileError(
            f"a {type(learner).__name__} cannot be saved here: it would come back as something "
            "else; keep its state_dict() with safetensors or torch"
        )
    assert isinstance(learner, Network | Backprop)
    tensors = {name: value.contiguous() for name, value in learner.state_dict().items()}
    header: dict[str, Any] = {
        "format": FORMAT,
        "kind": "network" if isinstance(learner, Network) else "backprop",
        "config": learner.config.model_dump(mode="json"),
        "classes": learner.classes,
        "tasks": {str(task): columns for task, columns in learner.tasks.items()},
        "current": learner.current,
        "notes": notes or {},
    }
    if trainer is not None:
        header["trainer"] = trainer.state()
        names = {id(parameter): name for name, parameter in learner.named_parameters()}
        for parameter, state in trainer.optimizer.state.items():
            for key, value in state.items():
                tensors[f"adam.{key}.{names[id(parameter)]}"] = value.contiguous()
    tensors |= {f"extra.{name}": value.contiguous() for name, value in (extra or {}).items()}
    tensors = _apart(tensors)
    text = json.dumps(header, sort_keys=True)
    metadata = {"sffa": text, "sha256": _digest(text, tensors)}
    try:
        with replacing(path) as temporary:
            save_file(tensors, temporary, metadata=metadata)
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"cannot write a model to {path}: {error}") from None


def load(path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Network | Backprop:
    """Read a learner back, exactly as it was saved.

    >>> import tempfile, torch, sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     net.save(f"{folder}/model.safetensors")
    ...     same = sffa.load(f"{folder}/model.safetensors")
    >>> bool((same.scores(torch.ones(1, 4)) == net.scores(torch.ones(1, 4))).all())
    True
    """
    header, tensors = read(path)
    return _learner(path, header, tensors, device)


def load_trainer(path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Trainer:
    """Read a trainer back with its learner; the next step is the one it would have taken."""
    return load_run(path, device)[0]


def load_run(
    path: str | os.PathLike[str], device: str | torch.device = "cpu"
) -> tuple[Trainer, dict[str, Any], dict[str, Tensor]]:
    """Read a trainer, and the notes and extra tensors that were saved beside it."""
    header, tensors = read(path)
    state = header.get("trainer")
    if state is None:
        raise ModelFileError(f"{path} holds a model without training state: nothing to resume")
    learner = _learner(path, header, tensors, device)
    trainer = Trainer(learner, state["lr"], state["negatives"], state["schedule"], state["seed"])
    trainer.layer = state["layer"]
    trainer.epochs_done = state["epochs_done"]
    trainer.rng.bit_generator.state = state["rng"]
    for name, parameter in learner.named_parameters():
        moments = {
            key: tensors[f"adam.{key}.{name}"].to(parameter.device)
            for key in ("step", "exp_avg", "exp_avg_sq")
            if f"adam.{key}.{name}" in tensors
        }
        if moments:
            trainer.optimizer.state[parameter] = moments
    extra = {n.removeprefix("extra."): t for n, t in tensors.items() if n.startswith("extra.")}
    return trainer, header["notes"], {n: t.to(device) for n, t in extra.items()}


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read and verify a model file: its header and all its tensors."""
    if not Path(path).is_file():
        raise ModelFileError(f"no model file at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, OSError) as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {error}") from None
    if "sffa" not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but sffa did not write it")
    text = metadata["sffa"]
    try:
        header: dict[str, Any] = json.loads(text)
        version = int(header["format"])
    except (ValueError, KeyError, TypeError):
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
    return header, tensors


def _learner(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    tensors: dict[str, Tensor],
    device: str | torch.device,
) -> Network | Backprop:
    try:
        learner = _shaped(header, tensors)
        learner.tasks = {int(task): columns for task, columns in header["tasks"].items()}
        learner.current = header["current"]
        learner.standardise(tensors["mean"], tensors["std"])
        own = {name: value for name, value in tensors.items() if name.split(".")[0] not in _BESIDE}
        learner.load_state_dict(own)
    except (SFFAError, RuntimeError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} does not hold a usable model: {error}") from None
    return learner.to(device)


def _shaped(header: dict[str, Any], tensors: dict[str, Tensor]) -> Network | Backprop:
    """Make a learner that has met the file's classes, its parameters as large as the file's."""
    classes: list[int] = header["classes"]
    if header["kind"] == "network":
        return Network(**header["config"], classes=classes)
    learner = Backprop(**header["config"])
    learner.classes = list(classes)
    for name, value in tensors.items():
        room, _, rest = name.partition(".")
        if room == "heads" and rest.endswith(".bias"):
            learner.size_head(rest.removesuffix(".bias"), len(value))
    return learner


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
    """Sum header, names, types, shapes and bytes."""
    total = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        value = tensors[name].detach().cpu().contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
