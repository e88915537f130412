"""One layer in memory: the others wait in the files of a folder.

A layer that waits is mapped from its file, so that whoever looks at the network still finds its
weights; it is copied into memory when its turn comes. What a layer answers is kept on disk as
index and value for the layer above it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sffa.core import optimizer as optimizers
from sffa.core import storage
from sffa.core.goodness import Energies
from sffa.core.layers import Layer
from sffa.core.learner import BLOCK
from sffa.errors import ConfigurationError, ModelFileError, OutputError
from sffa.files import checksum
from sffa.kernels import Winners

if TYPE_CHECKING:
    from sffa.core.network import Network


class Latents:
    """The winners of a layer, normalised, for each row and label: (rows, labels, 2k)."""

    def __init__(self, folder: Path, shape: tuple[int, ...]) -> None:
        self.index = _room(folder, shape, np.dtype(np.int32))
        self.value = _room(folder, shape, np.dtype(np.float32))

    def take(self, places: Tensor | slice) -> Winners:
        """Return those of some rows."""
        return Winners(self.index[places], self.value[places])

    def put(self, places: slice, winners: Winners) -> None:
        """Keep those of some rows."""
        self.index[places], self.value[places] = winners.index, winners.value


class Offload:
    """The layers of a network in files; one of them, if any, is held in memory and trained."""

    def __init__(self, network: Network, folder: str | os.PathLike[str]) -> None:
        self.network, self.folder = network, Path(folder)
        self.held: int | None = None
        self.notes: dict[str, Any] = {}
        self._training: tuple[Optimizer, optimizers.Source] | None = None
        self._kept: tuple[Any, int, Latents | None] = (None, 0, None)

    @classmethod
    def begun(cls, network: Network, folder: str | os.PathLike[str]) -> Offload:
        """Move the layers of a network into a folder that holds none yet."""
        _check(network)
        offload = cls(network, folder)
        if (offload.folder / storage.MAIN).exists():
            raise ConfigurationError(
                f"{folder} holds a network already: go on with it (Trainer.load, --resume), or "
                "choose another folder"
            )
        try:
            offload.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
        for number in range(network.depth):
            offload.put_away(number)
        offload.save(network.header(), {})
        return offload

    @classmethod
    def reopened(
        cls, network: Network, folder: Path, hidden: Sequence[int], tensors: Mapping[str, Tensor]
    ) -> Offload:
        """Return the layers of a folder; ``network`` has the first, ``tensors`` those held."""
        offload = cls(network, folder)
        for number, width in enumerate(hidden):
            held = {name: value.clone() for name, value in tensors.items() if _of(number, name)}
            found = held or offload._mapped(number)
            shape = found[f"layers.{number}.image"].shape
            if shape != (network.inputs, width):
                raise ModelFileError(f"layer {number} has an image block of shape {tuple(shape)}")
            if number:
                network.deepen(width)
            offload._set(number, found)
            if held:
                offload.held = number
        return offload

    def save(self, header: dict[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Write what is in memory, and what else is given, so that it can be gone on with."""
        own = self.network.state_dict()
        here = {n: v for n, v in own.items() if "layers" not in n or _of(self.held, n)}
        self.notes = header["notes"]
        storage.write(self.folder / storage.MAIN, header, {**here, **tensors})

    def put_away(self, number: int) -> None:
        """Write a layer, and the optimiser's state of it, to its files; free their memory."""
        known = self._parameters(number)
        header = self.network.header()
        tensors = {name: parameter.detach() for name, parameter in known.items()}
        storage.write(layer_file(self.folder, number), header, tensors)
        if self._training is not None:
            optimizer, _ = self._training
            names = {id(parameter): name for name, parameter in known.items()}
            numbers = {"state": optimizers.numbers_of(optimizer, names)["state"]}
            kept = optimizers.tensors_of(optimizer, names)
            if kept or numbers["state"]:
                storage.write(self._state_file(number), {**header, "trainer": numbers}, kept)
            for parameter in known.values():
                optimizer.state.pop(parameter, None)
        self._wait(number)
        if self.held == number:
            self.held = None

    def hold(self, number: int, optimizer: Optimizer, source: optimizers.Source) -> None:
        """Have a layer in memory to train it, with the optimiser's state; put away another one."""
        self._training = optimizer, source
        if self.held == number:
            return
        if self.held is not None:
            self.put_away(self.held)
        if self._kept[1] > number:
            self._kept = None, 0, None  # what a layer answers changes with it
        self._read(number)
        self.held = number
        if self._state_file(number).exists():
            header, tensors = storage.read(self._state_file(number))
            known = self._parameters(number)
            optimizers.restore(optimizer, source, known, tensors, header.trainer or {})

    def forget_states(self) -> None:
        """Drop what the optimiser kept of the layers in files."""
        for number in range(self.network.depth):
            self._state_file(number).unlink(missing_ok=True)

    def state_tensors(self) -> dict[str, Tensor]:
        """Return what the optimiser keeps of the layers in files, mapped from there."""
        files = [self._state_file(n) for n in range(self.network.depth) if n != self.held]
        return {n: v for file in files if file.exists() for n, v in storage.mapped(file).items()}

    @contextmanager
    def at_hand(self, number: int) -> Iterator[Layer]:
        """Have a layer's weights in memory for a while."""
        layer = self.network.stack[number]
        if number == self.held:
            yield layer
            return
        self._read(number)
        try:
            yield layer
        finally:
            self._wait(number)

    def known(self, layer: int, x: Tensor) -> Latents | None:
        """Return what the layer below ``layer`` answers to each example under every class.

        Layers are asked one after the other, each once: what was found for the same examples is
        kept for the layer above.
        """
        network = self.network
        scale = network.mean.numpy(), network.std.numpy()
        key = checksum(x.numpy(), *scale), len(x), tuple(network.classes)
        first, latents = self._kept[1:] if self._kept[0] == key else (0, None)
        candidates = network.candidates(len(x), None)
        # Blocks of few rows would be multiplied in another order: the last one overlaps instead.
        ends = [min(start + BLOCK, len(x)) for start in range(0, len(x), BLOCK)]
        parts = [slice(max(0, end - BLOCK), end) for end in ends]
        for number in range(first, layer):
            latents, _ = self._answers(number, x, candidates, parts, latents)
        self._kept = key, layer, latents
        return latents

    def by_layer(
        self, x: Tensor, candidates: Tensor, value: Callable[[Layer, Energies], Tensor]
    ) -> Tensor:
        """Return a value of each layer's energies (layers, rows, candidates), block by block."""
        parts = [slice(start, start + BLOCK) for start in range(0, max(len(x), 1), BLOCK)]
        latents: Latents | None = None
        values = []
        for number, layer in enumerate(self.network.stack):
            latents, energies = self._answers(number, x, candidates, parts, latents)
            values.append(torch.cat([value(layer, each) for each in energies]))
        return torch.stack(values)

    def _answers(
        self,
        number: int,
        x: Tensor,
        candidates: Tensor,
        parts: Sequence[slice],
        below: Latents | None,
    ) -> tuple[Latents, list[Energies]]:
        """Let a layer answer part by part; return its latents, and the energies of each part."""
        made: Latents | None = None
        energies = []
        with torch.no_grad(), self.at_hand(number):
            for part in parts:
                seen = None if below is None else below.take(part)
                found, latent = self.network.respond(number, x[part], candidates[part], seen)
                made = made or Latents(self.folder, (len(x), *latent.index.shape[1:]))
                made.put(part, latent)
                energies.append(tuple(energy.clone() for energy in found))
        assert made is not None
        return made, energies

    def _state_file(self, number: int) -> Path:
        return self.folder / f"layer-{number:03d}.optimizer.safetensors"

    def _parameters(self, number: int) -> dict[str, nn.Parameter]:
        named = self.network.stack[number].named_parameters()
        return {f"layers.{number}.{name}": parameter for name, parameter in named}

    def _read(self, number: int) -> None:
        """Copy a layer from its file, which is verified, into memory."""
        found = storage.read(layer_file(self.folder, number))[1]
        self._set(number, {name: value.clone() for name, value in found.items()})

    def _wait(self, number: int) -> None:
        """Let a layer's parameters be those of its file, of which nothing is read yet."""
        self._set(number, self._mapped(number))

    def _mapped(self, number: int) -> dict[str, Tensor]:
        return storage.mapped(layer_file(self.folder, number))

    def _set(self, number: int, tensors: Mapping[str, Tensor]) -> None:
        for name, parameter in self._parameters(number).items():
            found = tensors.get(name)
            if found is None or found.shape != parameter.shape or found.dtype != parameter.dtype:
                raise ModelFileError(f"{self.folder} does not hold {name} as the network has it")
            parameter.data = found
            parameter.grad = None


def layer_file(folder: str | os.PathLike[str], number: int) -> Path:
    """Return where a folder has a layer."""
    return Path(folder) / f"layer-{number:03d}.safetensors"


def _of(number: int | None, name: str) -> bool:
    """Whether a tensor belongs to a layer, by its name."""
    return number is not None and name.startswith(f"layers.{number}.")


def _check(network: Network) -> None:
    """Refuse what cannot wait in files."""
    config = network.config
    if config.algorithm != "sffa":
        raise ConfigurationError(
            "offload is for SFFA: FFA's latents are dense, one number a neuron, label and example, "
            "too many to keep on disk"
        )
    if network.device.type != "cpu":
        raise ConfigurationError(f"offload is for networks on a cpu, not on {network.device}")
    if [layer.width for layer in network.stack] != list(config.hidden):
        raise ConfigurationError(
            "offload cannot hold layers that grew beyond planned_classes: plan for all classes"
        )


def _room(folder: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
    """Return zeros: in memory for a block of rows, else in a file that ends with the process."""
    if shape[0] <= BLOCK:
        return torch.from_numpy(np.zeros(shape, dtype))
    size = int(np.prod(shape)) * dtype.itemsize
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # or a full disk would end the process
            return torch.from_numpy(np.memmap(file, dtype, "r+", shape=shape))
    except OSError as error:
        raise OutputError(
            f"{folder}: {size / 2**20:,.0f} MB of latents cannot be written ({error.strerror})"
        ) from None
