"""From a model file, or a folder of layers, back to the learner."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sffa.core import storage
from sffa.core.budget import count_parameters
from sffa.core.learner import KINDS, Learner
from sffa.core.network import Network
from sffa.core.offload import Offload, layer_file
from sffa.errors import ModelFileError, SFFAError
from sffa.extension import at_hand, is_reference

_OTHERS = ("adam", "optimizer", "extra")  # tensors of a file that are not the learner's


def load(path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Any:
    """Read a learner back, exactly as it was saved.

    >>> import tempfile, torch, sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     net.save(f"{folder}/model.safetensors")
    ...     same = sffa.load(f"{folder}/model.safetensors")
    >>> bool((same.scores(torch.ones(1, 4)) == net.scores(torch.ones(1, 4))).all())
    True

    Of a folder (see `Network.offload`) the layers stay in their files.
    """
    if os.path.isdir(path):
        return reopened(path)[0]
    return restored(path, *storage.read(path), device)


def reopened(
    folder: str | os.PathLike[str],
) -> tuple[Network, storage.Header, dict[str, Tensor]]:
    """Return the network whose layers are in the files of a folder, and what else is there."""
    header, tensors = storage.read(folder)
    hidden = header.config.get("hidden")
    if not isinstance(hidden, list) or not hidden:
        raise ModelFileError(f"{folder} does not hold a usable model: no hidden layers")
    shared = {name: value for name, value in tensors.items() if not name.startswith("layers.")}
    kept = [value for name, value in tensors.items() if name.startswith("layers.0.")]
    first = tensors if kept else storage.mapped(layer_file(folder, 0))
    one = {**shared, **{n: value for n, value in first.items() if n.startswith("layers.0.")}}
    config = {**header.config, "hidden": hidden[:1]}
    network = restored(folder, header.model_copy(update={"config": config}), one, "cpu")
    if not isinstance(network, Network):
        raise ModelFileError(f"{folder} holds a '{header.kind}', whose layers need one file")
    try:
        network.offloaded = Offload.reopened(network, Path(folder), hidden, tensors)
    except (SFFAError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{folder} does not hold a usable model: {error}") from None
    return network, header, tensors


def restored(
    path: str | os.PathLike[str],
    header: storage.Header,
    tensors: dict[str, Tensor],
    device: str | torch.device,
) -> Learner:
    """Make the learner that a file's header and tensors describe."""
    own = {name: value for name, value in tensors.items() if name.split(".")[0] not in _OTHERS}
    try:
        kind = _found(header.kind)
        _check_size(header, kind, own)
        learner = kind.restore(header.config, header.classes, own)
        learner.tasks = {int(task): columns for task, columns in header.tasks.items()}
        learner.current = header.current
        learner.standardise(own["mean"], own["std"])
        learner.load_state_dict(own)
        learner.check_restored()
    except (SFFAError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:
        said = " ".join(str(error).split())
        raise ModelFileError(f"{path} does not hold a usable model: {said}") from None
    return learner.to(device)


def _found(kind: str) -> type[Learner]:
    """Return the class that a file names; one's own is never imported, it must be at hand."""
    found = KINDS.get(kind) or at_hand(kind)
    if isinstance(found, type) and issubclass(found, Learner):
        return found
    if is_reference(kind):
        raise ModelFileError(
            f"it needs the class '{kind[:80]}': import its module first, and load it then"
        )
    raise ModelFileError(f"it holds a '{kind[:80]}', known are {sorted(KINDS)}")


def _check_size(header: storage.Header, kind: type[Learner], tensors: dict[str, Tensor]) -> None:
    """Refuse a configuration that asks for more weights than the file holds."""
    base = next((name for name, cls in KINDS.items() if issubclass(kind, cls)), None)
    if base not in ("network", "backprop"):
        return  # their `restore` compares sizes itself
    inputs, hidden = header.config.get("inputs"), header.config.get("hidden")
    code = header.config.get("code_size", 0) if base == "network" else None
    if header.config.get("codes") == "onehot":
        code = 0
    if not isinstance(hidden, list) or not all(
        isinstance(number, int) and number >= 0 for number in (inputs, code or 0, *hidden)
    ):
        return  # refused for what it is
    held = sum(tensor.numel() for tensor in tensors.values())
    if hidden and count_parameters(inputs or 0, hidden, code) > held:
        raise ModelFileError(f"its configuration needs more than the {held:,} numbers it holds")
