"""The forward-forward network: layers that each judge an input together with a label."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from sffa import kernels
from sffa.core import gates, network_growth
from sffa.core.batch import Array, Task, tensor_of
from sffa.core.budget import check_memory
from sffa.core.codes import onehot_code
from sffa.core.config import PARTS, NetworkConfig, current_names
from sffa.core.goodness import KNOWN_SLOPES, Energies
from sffa.core.growth import Growth
from sffa.core.layers import Layer, Response, SymmetricLayer, ThresholdLayer
from sffa.core.learner import Learner, listed
from sffa.core.objective import Aims, LayerLoss, layer_loss, layer_slopes, product_loss
from sffa.core.offload import Offload
from sffa.core.parts import own_parts, try_out
from sffa.core.weight_inputs import WeightInputs
from sffa.errors import ConfigurationError, DataError, ModelFileError
from sffa.extension import check_at_hand, kept_name
from sffa.kernels import Kernel, Winners, team

SMALL = 20_000_000  # multiply-adds below which a step is faster on one thread


class Network(Learner, kind="network"):
    """FFA or SFFA, for classes given now or met later.

    Parameters
    ----------
    inputs
        Features of an example.
    hidden
        Widths of the layers; even for SFFA, whose layers have two halves.
    algorithm
        ``"sffa"`` or ``"ffa"``.
    classes
        Classes known from the start, non-negative integers.
    seed
        Of weights, label codes and gates.
    backend
        ``"auto"``, ``"torch"`` or ``"numba"``.
    **options
        Any other field of `NetworkConfig`. ``goodness``, ``codes`` and ``objective`` may be your
        own: a `Goodness`, a `LabelCode` or an `Objective`, as class, object or ``module:Class``.

    Examples
    --------
    >>> import torch, sffa
    >>> net = sffa.Network(4, hidden=(40, 40), k=5, classes=range(3), seed=0)
    >>> net.scores(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """

    config: NetworkConfig
    layers: nn.ModuleList
    codes: Tensor
    contrastive: ClassVar[bool] = True
    offloaded: Offload | None = None
    _own: Mapping[str, Any] = {}  # of the class too: networks pickled by earlier versions have none

    def __init__(
        self,
        inputs: int,
        hidden: Iterable[int] = (1400, 1400),
        algorithm: str = "sffa",
        classes: Iterable[int] = (),
        seed: int = 0,
        *,
        backend: str = "auto",
        **options: Any,
    ) -> None:
        super().__init__(inputs)
        options = current_names(options, {"kernels": "backend"})
        backend = options.pop("backend", backend)
        known = listed(classes)
        given: dict[str, Any] = {
            "inputs": inputs,
            "hidden": hidden if isinstance(hidden, int) else tuple(hidden),
            "algorithm": algorithm,
            "seed": seed,
            **options,
        }
        if given.get("gate") == "disjoint" and given.get("planned_classes") is None:
            if not known:
                raise ConfigurationError(
                    "a disjoint gate needs classes or planned_classes, to know how large a share is"
                )
            given["planned_classes"] = len(known)
        self._own = own_parts(given)
        self.config = NetworkConfig(**{**given, **self._own})
        self.backend = backend
        self._kernel: tuple[tuple[str, torch.device], Kernel] | None = None
        kernels.get(backend, torch.device("cpu" if backend == "numba" else "meta"))
        if self.config.gate is not None:
            self.shares(self.config)  # refuses shares too small for the winners
        code = 0 if self.config.codes == "onehot" else self.config.code_size
        check_memory(self.config.inputs, self.config.hidden, code)
        self.register_buffer("codes", torch.zeros(0, code))
        self.layers = nn.ModuleList()
        for width in self.config.hidden:
            self._append(width)
        try_out(self._own, self.stack[0].goodness, self.config.polarities)
        if known:
            self.add_classes(known)

    @staticmethod
    def shares(config: NetworkConfig) -> list[int]:
        """Return how many neurons of a polarity each label owns in each layer, when gated."""
        return gates.shares(config)

    def deepen(self, width: int) -> list[Growth]:
        """Add a layer on top that trains alone; what the layers below compute stays the same."""
        hidden = (*self.config.hidden, width)
        config = NetworkConfig(**{**self.config.model_dump(), "hidden": hidden})
        if config.gate is not None:
            self.shares(config)
        self.config = config
        layer = self._append(width).to(self.device)
        if config.gate == "disjoint":
            # The new layer, if more classes were met than planned for.
            network_growth.widen(config, self.stack, len(self.classes))
        network_growth.set_gates(config, self.stack, self.classes, self.device)
        number = len(self.layers) - 1
        if self.offloaded is not None:
            self.offloaded.put_away(number)
        return [Growth(f"layers.{number}.{n}", None, p) for n, p in layer.named_parameters()]

    def offload(self, folder: str | os.PathLike[str]) -> Offload:
        """Let the layers wait in files of a folder; one at a time is in memory when needed.

        Only SFFA's can; the network predicts as before, layer after layer. A `Trainer` with
        ``offload`` trains it so.
        """
        if self.offloaded is None:
            self.offloaded = Offload.begun(self, folder)
        elif self.offloaded.folder != Path(folder):
            raise ConfigurationError(f"the layers are in {self.offloaded.folder} already")
        return self.offloaded

    @property
    def rows_at_once(self) -> int:
        """See `Learner.rows_at_once`: all, where each layer must come from a file."""
        return super().rows_at_once if self.offloaded is None else sys.maxsize

    def respond(
        self, number: int, x: Tensor | Array, candidates: Tensor, below: Winners | None
    ) -> tuple[Energies, Winners]:
        """Return energies and latents of one layer, from examples and the latents below it.

        What is returned may be overwritten by the next call.
        """
        x, layer = self.prepare(x), self.stack[number]
        if self._in_loops():
            from sffa.core import compiled_step

            return compiled_step.respond(self, number, x, candidates, below)
        known = None if below is None else (self.stack[number - 1], below)
        response = layer.respond(x, self.codes, known, candidates.int(), self._backend())
        assert isinstance(response.latent, Winners)
        return response.energies, response.latent

    def scan(
        self,
        x: Tensor | Array,
        candidates: Tensor,
        layer: int | None = None,
        known: Winners | None = None,
    ) -> Iterator[Response]:
        """Yield each layer's response; with ``layer``, only that one's, and only it can learn.

        ``known`` are the latents of the layer below it under every class (batch, classes, 2k), if
        they need not be computed.
        """
        x = self.prepare(x)
        self._check(candidates, len(x))
        for _, _, response in self._responses(x, candidates.int(), layer, known):
            yield response

    def _responses(
        self, x: Tensor, candidates: Tensor, layer: int | None, known: Winners | None = None
    ) -> Iterator[tuple[Layer, tuple[Layer, Any] | None, Response]]:
        """Yield each layer that is wanted, with what it sees of the one below and its response."""
        kernel = self._backend()
        below: tuple[Layer, Any] | None = None
        first = 0
        if known is not None and layer:
            first, below = layer, (self.stack[layer - 1], known.under(candidates))
        for number, current in enumerate(self.stack[first:], first):
            wanted = layer is None or number == layer
            with torch.set_grad_enabled(wanted and torch.is_grad_enabled()):
                response = current.respond(x, self.codes, below, candidates, kernel)
            if wanted:
                yield current, below, response
            if number == layer:
                return
            below = current, response.latent

    def loss(
        self,
        x: Tensor | Array,
        y: Tensor | Array,
        task: Task = None,
        *,
        weight: Tensor | None = None,
        candidates: Tensor | None = None,
        layer: int | None = None,
        known: Winners | None = None,
    ) -> Tensor:
        """Return the sum of the layers' local losses.

        ``weight`` (batch,) is what each example counts; ``candidates`` (batch, candidates) replaces
        the labels that each is contrasted with; ``layer`` restricts the loss to one layer, the
        others frozen, and ``known`` are the latents of the one below it, as in `scan`.
        """
        column = self.columns(y)
        if candidates is None:
            candidates = self.training_labels(column, task)
        target, valid = self.targets(column, candidates), candidates >= 0
        responses = self.scan(x, candidates, layer, *(() if known is None else (known,)))
        return self.loss_of(responses, target, valid, layer, weight)

    def backward(
        self,
        x: Tensor | Array,
        y: Tensor | Array,
        task: Task = None,
        *,
        weight: Tensor | None = None,
        candidates: Tensor | None = None,
        layer: int | None = None,
        known: Winners | None = None,
        **options: Any,
    ) -> Tensor:
        """See `Learner.backward`: layers are local, so their gradients are known in closed form."""
        if options or not self._known_in_closed_form():
            options |= {"weight": weight, "candidates": candidates, "layer": layer}
            options |= {} if known is None else {"known": known}
            return super().backward(x, y, task, **options)
        with torch.no_grad(), self.threads(len(y)):
            column, x = self.columns(y), self.prepare(x)
            if candidates is None:
                candidates = self.training_labels(column, task)
            else:
                self._check(candidates, len(x))
            if layer is not None:
                self.zero_grad(set_to_none=True)
            asked = x, column, candidates, layer, weight, known
            if self._in_loops():
                from sffa.core import compiled_step

                return compiled_step.set_gradients(self, *asked)
            return self._set_gradients(*asked)

    def _set_gradients(
        self,
        x: Tensor,
        column: Tensor,
        candidates: Tensor,
        layer: int | None,
        weight: Tensor | None,
        known: Winners | None,
    ) -> Tensor:
        """Set the gradients of the layers, or of one, and return the sum of their losses."""
        aims = Aims(self.targets(column, candidates), candidates >= 0, weight)
        candidates = candidates.int()
        total = torch.zeros((), device=self.device)
        kernel, labels = self._backend(), len(self.codes)
        for current, below, response in self._responses(x, candidates, layer, known):
            loss = layer_slopes(self.config, current.goodness, response, current.width, aims)
            slopes = loss.energy, loss.activity
            parts = current.gradients(below, candidates, response, labels, slopes, kernel)
            current.set_gradients(x, self.codes, *parts)
            total += loss.total
        return total

    def _in_loops(self) -> bool:
        """Whether the layers are of SFFA and run in compiled loops."""
        return self.config.algorithm == "sffa" and self.compiled

    def _known_in_closed_form(self) -> bool:
        """Whether the loss is the sum of the layers' own, as `layer_slopes` differentiates them."""
        own = ("loss", "loss_of", "layer_losses", "scan")
        return (
            self.config.coupling == "local"
            and "objective" not in self._own
            and all(getattr(type(self), name) is getattr(Network, name) for name in own)
            and all(type(layer.goodness) in KNOWN_SLOPES for layer in self.stack)
        )

    def threads(self, batch: int) -> AbstractContextManager[None]:
        """See `Learner.threads`: small work of SFFA wakes no other thread.

        Large work of FFA has threads of its own, each for some of the labels.
        """
        config = self.config
        if not self.compiled:
            return nullcontext()
        if config.algorithm == "ffa":
            large = batch * len(self.classes) * max(config.hidden) > kernels.TOGETHER
            return team.one_thread(loops=False) if large else nullcontext()
        each = config.inputs + 2 * config.k * len(self.classes)
        small = batch * sum(config.hidden) * each < SMALL
        return team.one_thread() if small else nullcontext()

    def loss_of(
        self,
        responses: Iterable[Response],
        target: Tensor,
        valid: Tensor,
        layer: int | None = None,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Return the loss of responses: the sum of the layers' own, or that of ``layer`` alone.

        ``target`` and ``valid`` are (batch, candidates): the true label, and whether there is one.
        """
        if self.config.coupling == "product":
            if layer is not None:
                raise ConfigurationError("coupling 'product' trains all layers at once, not one")
            goodness = [current.goodness for current in self.stack]
            return product_loss(self.config, goodness, list(responses), target, valid)
        losses = self.layer_losses(responses, target, valid, layer, weight)
        return torch.stack([part.total for part in losses]).sum()

    def layer_losses(
        self,
        responses: Iterable[Response],
        target: Tensor,
        valid: Tensor,
        layer: int | None = None,
        weight: Tensor | None = None,
    ) -> list[LayerLoss]:
        """Return each trained layer's local loss and what it is made of."""
        trained = self.stack if layer is None else self.stack[layer : layer + 1]
        asked = target, valid, weight, self._own.get("objective")
        return [
            layer_loss(self.config, current.goodness, response, *asked)
            for current, response in zip(trained, responses, strict=True)
        ]

    def layer_scores(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return every layer's own scores (layers, batch, candidates); no candidate: -inf."""
        return self._by_layer(x, task, lambda layer, energies: layer.goodness.score(energies))

    def logits(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return the log-odds of every layer's goodness (layers, batch, candidates); none: -inf."""
        return self._by_layer(x, task, lambda layer, energies: layer.goodness.log_odds(energies))

    def _by_layer(
        self, x: Tensor | Array, task: Task, value: Callable[[Layer, Energies], Tensor]
    ) -> Tensor:
        candidates = self.candidates(len(x), task)
        if self.offloaded is not None and not torch.is_grad_enabled():
            rows = tensor_of(x, self.device)
            self._check(candidates, len(rows))
            values = self.offloaded.by_layer(rows, candidates, value)
        else:
            each = zip(self.stack, self._energies(x, candidates), strict=True)
            values = torch.stack([value(layer, energies) for layer, energies in each])
        return values if task is None else values.masked_fill(candidates < 0, -torch.inf)

    def _energies(self, x: Tensor | Array, candidates: Tensor) -> Iterable[Energies]:
        """Return every layer's energies, which can be differentiated where gradients are taken."""
        own = type(self).scan is not Network.scan
        if torch.is_grad_enabled() or own or not self._in_loops():
            return (response.energies for response in self.scan(x, candidates))
        from sffa.core import compiled_step

        return compiled_step.energies(self, self.prepare(x), candidates)

    @torch.no_grad()
    def weight_inputs(self, x: Tensor | Array, task: Task = None) -> Iterator[WeightInputs]:
        """See `Learner.weight_inputs`: images, codes of candidate labels, latents under each."""
        x, candidates = self.prepare(x), self.candidates(len(x), task).int()
        asked, one = candidates >= 0, x.new_ones(1, 1)
        codes = self.codes[torch.unique(candidates[asked]).long()]
        latents: Tensor | None = None
        for number, (layer, _, response) in enumerate(self._responses(x, candidates, None)):
            yield WeightInputs(f"layers.{number}.image", 0, x)
            yield WeightInputs(f"layers.{number}.code", 0, codes)
            yield WeightInputs(f"layers.{number}.bias", None, one)
            if latents is not None:
                yield WeightInputs(f"layers.{number}.latent", 0, latents[asked])
            latents = layer.latents(response)

    def outputs(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return the mean over layers of each candidate's goodness (batch, candidates)."""
        return self.layer_scores(x, task).mean(dim=0)

    def _check(self, candidates: Tensor, batch: int) -> None:
        """Refuse candidates that do not fit: the compiled loops trust them."""
        if candidates.ndim != 2 or len(candidates) != batch:
            raise DataError(
                f"{batch} examples need labels or candidates for as many, got the shape "
                f"{tuple(candidates.shape)}"
            )
        if candidates.numel() and int(candidates.max()) >= len(self.classes):
            raise DataError(
                f"candidate {int(candidates.max())} is not among {len(self.classes)} columns"
            )

    @property
    def stack(self) -> list[Layer]:
        """The layers, from the first to the last."""
        return list(self.layers)  # type: ignore[arg-type]

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(self.layers)

    @property
    def compiled(self) -> bool:
        """Whether numba's loops are at work here, so that others may use them too."""
        return self._backend().name == "numba"

    def use_backend(self, name: str) -> None:  # noqa: D102
        self.backend = name

    def _backend(self) -> Kernel:
        wanted = self.backend, self.device
        if self._kernel is None or self._kernel[0] != wanted:
            self._kernel = wanted, kernels.get(self.backend, self.device)
        return self._kernel[1]

    def _append(self, width: int) -> Layer:
        kind = SymmetricLayer if self.config.algorithm == "sffa" else ThresholdLayer
        number = len(self.layers)
        previous = self.stack[-1].width if number else 0
        layer = kind(self.config, width, previous, self.codes.shape[1], number)
        layer.goodness = self._own.get("goodness", layer.goodness)
        self.layers.append(layer)
        return layer

    def grow(self, classes: list[int], task: int | None) -> list[Growth]:
        """See `Learner.grow`: codes, gates, and shares of a disjoint gate."""
        growths: list[Growth] = []
        if not classes:
            return growths
        config, count = self.config, len(self.classes)
        if self.offloaded is not None and network_growth.grows(config, count):
            raise ConfigurationError(
                "layers in files cannot grow: name all classes before they are offloaded"
            )
        if config.codes == "onehot":
            old = self.codes.shape[1]
            codes = torch.stack([onehot_code(i, count) for i in range(count)])
            self.codes = codes.to(self.device)
            growths += network_growth.grow_onehot(config, self.stack, old, count)
        else:
            self.codes = network_growth.add_codes(config, self._own, classes, self.codes)
        if config.gate == "disjoint":
            growths += network_growth.widen(config, self.stack, count)
        network_growth.set_gates(config, self.stack, self.classes, self.device)
        return growths

    def header(self, notes: dict[str, Any] | None = None) -> dict[str, Any]:
        """See `Learner.header`: parts of the user's must be found again."""
        for name, part in self._own.items():
            if kept_name(name, part) != getattr(self.config, name):
                raise ModelFileError(f"the {name} has changed since the network was made with it")
        return super().header(notes)

    @classmethod
    def restore(
        cls, config: dict[str, Any], classes: list[int], tensors: dict[str, Tensor]
    ) -> Self:
        """See `Learner.restore`: codes come from the file, so that none is drawn anew."""
        config = current_names(config, NetworkConfig.renamed, quiet=True)
        checked = NetworkConfig(**config)
        for name in PARTS:
            check_at_hand(name, getattr(checked, name))
        network_growth.check_tensors(checked, classes, tensors)
        network = cls(**config)
        network.classes = list(classes)
        if checked.codes == "onehot" and classes:
            network_growth.grow_onehot(
                network.config, network.stack, network.codes.shape[1], len(classes)
            )
        network.codes = tensors["codes"].clone()
        if checked.gate == "disjoint":
            network_growth.widen(network.config, network.stack, len(classes))
        network_growth.set_gates(network.config, network.stack, network.classes, network.device)
        return network

    def extra_repr(self) -> str:
        """Show what decides the network's shape."""
        config = self.config
        scaled = "standardised" if self.standardised else "not standardised"
        return f"{config.algorithm}, inputs={config.inputs} ({scaled}), classes={self.classes}"
