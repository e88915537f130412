"""A batch through one layer of SFFA in compiled loops, forward and back.

A pass is made once for a size of batch and run again and again: at everyday sizes it takes longer
to ask for memory and hand it over than to do the arithmetic.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sffa.kernels import compiled_loss, selection, tasks
from sffa.kernels.compiled_loss import LossOptions
from sffa.kernels.openmp import Call
from sffa.kernels.winners import Gate, Rule, Winners

_NORMS = {"unit": selection.UNIT, "literal": selection.LITERAL, "rms": selection.RMS}
_WEIGHT = 10  # where `tasks.scan` has the weights from below
_OUT = 4  # where `tasks.scatter` has what it fills


class Below(NamedTuple):
    """What a layer sees of the previous one: its winners, normalised, and the gate they obey."""

    latent: Winners
    gate: Gate | None


class LayerPass:
    """The winners for each example and candidate label, and the gradients they lead to.

    ``shared`` (batch, width) and ``label`` (labels, width), the parts of the drive, and
    ``candidates`` (batch, candidates; int32) are read anew at each `scan`, before which
    `fill_label` may set ``label``. It fills ``active``
    and ``latent``, the winners' latents as they are and normalised for the next layer, ``energy``
    (batch, candidates, 2) and ``activity`` (batch, candidates), the sum of the latents.
    """

    def __init__(
        self,
        shared: Tensor,
        label: Tensor,
        candidates: Tensor,
        rule: Rule,
        gate: Gate | None,
        below: Below | None,
    ) -> None:
        self.shared, self.label, self.candidates = shared, label, candidates
        self.rule, self.gate, self.below = rule, gate, below
        winners = *candidates.shape, 2 * rule.k
        place = torch.empty(winners, dtype=torch.int32)
        self.active = Winners(place, torch.empty(winners))
        self.latent = Winners(place, torch.empty(winners))
        self.energy, self.activity = torch.empty(*winners[:2], 2), torch.empty(winners[:2])
        self._no_weight = label[:0]
        self._packed = None if gate is None else _Packed(gate, below, len(label))
        self._scan: Call | None = None
        self._label: Call | None = None

    def fill_label(self, codes: Tensor, code: Tensor, bias: Tensor) -> None:
        """Set ``label`` to ``bias + codes @ code``."""
        if self._label is None:
            size, work = len(codes), code.numel()
            self._label = Call(
                tasks.label_part, [codes, code, bias, self.label], size=size, work=work
            )
        for number, tensor in enumerate((codes, code, bias)):
            self._label.give(number, tensor)
        self._label.run()

    def scan(self, weight: Tensor | None) -> None:
        """Find the winners; ``weight`` (previous, width) multiplies the latents below."""
        weight = self._no_weight if weight is None else weight
        if self._packed is not None:
            weight = self._packed.fill(weight, self.candidates)
        if self._scan is None:
            self._scan = self._make_scan(weight)
        self._scan.give(_WEIGHT, weight)
        self._scan.run()

    def _make_scan(self, weight: Tensor) -> Call:
        rule, packed = self.rule, self._packed
        half = self.shared.shape[1] // 2 if self.gate is None else self.gate.own.shape[2]
        latent = _no_latent(self.candidates) if self.below is None else self.below.latent
        outputs = self.active.index, self.active.value, self.latent.value, self.energy
        drive = self.shared, self.label, self.candidates, latent.index, latent.value
        return Call(
            tasks.scan if packed is None else tasks.scan_gated,
            [*outputs, self.activity, *drive, weight, *(packed.places if packed else ())],
            [rule.k, selection.blocks_for(rule.k), rule.activation == "relu", _NORMS[rule.norm]],
            size=len(self.candidates),
            work=self.candidates.numel() * 2 * half * (2 + latent.index.shape[2]),
        )

    def loss(self, aims: tuple[Any, ...], options: LossOptions) -> float:
        """Return the layer's loss, and keep its derivatives for `gradients`.

        ``aims`` are those of `sffa.kernels.compiled_loss.layer_slopes`.
        """
        return float(compiled_loss.layer_slopes(aims, *self._judged, options, *self._slopes))

    @cached_property
    def _judged(self) -> tuple[Any, ...]:
        return self.energy.numpy(), self.activity.numpy(), self.shared.shape[1]

    @cached_property
    def _slopes(self) -> tuple[Any, Any]:
        return self.gradients.to_energy.numpy(), self.gradients.to_activity.numpy()

    @cached_property
    def gradients(self) -> LayerGradients:
        """The way back, which begins where `loss` has been taken."""
        return LayerGradients(
            self.active,
            self.below,
            self.candidates,
            self.rule,
            (len(self.label), self.shared.shape[1]),
            torch.empty(self.energy.shape),
            torch.empty(self.activity.shape),
        )


class LayerGradients:
    """The gradients of ``shared``, ``label`` (whose ``shape`` is given) and the weights from below.

    ``to_energy`` and ``to_activity``, the derivatives of a loss, are read anew at each `run`.
    """

    def __init__(
        self,
        active: Winners,
        below: Below | None,
        candidates: Tensor,
        rule: Rule,
        shape: tuple[int, int],
        to_energy: Tensor,
        to_activity: Tensor,
    ) -> None:
        self.to_energy, self.to_activity = to_energy, to_activity
        place, self._winners = active.index, active.index.shape[2]
        to_drive = torch.empty(place.shape)
        self.to_shared, self.to_label = torch.empty(len(place), shape[1]), torch.empty(shape)
        self._differentiate = Call(
            tasks.differentiate,
            [candidates, place, active.value, to_energy, to_activity, to_drive, self.to_shared],
            [rule.activation == "relu"],
            size=len(place),
            work=4 * place.numel(),
        )
        self._drives = place.flatten(0, 1), to_drive.flatten(0, 1)
        ones = torch.ones(candidates.shape)
        self._to_label = self._scatter(candidates, ones, self.to_label)  # none: among no rows
        self._below = below
        self._scatter_weight: Call | None = None
        self._label: Call | None = None

    def _scatter(self, keys: Tensor, scale: Tensor, out: Tensor) -> Call:
        given = [keys.flatten(), scale.flatten(), *self._drives, out]
        work = 4 * keys.numel() * self._winners
        return Call(tasks.scatter, given, size=len(out), work=work, chunks=1)

    def run(self, to_weight: Tensor | None) -> None:
        """Fill ``to_shared``, ``to_label`` and, where there is a layer below, ``to_weight``."""
        self._differentiate.run()
        self._to_label.run()
        if self._below is None or to_weight is None:
            return
        if self._scatter_weight is None:
            latent = self._below.latent
            self._scatter_weight = self._scatter(latent.index, latent.value, to_weight)
        self._scatter_weight.give(_OUT, to_weight)
        self._scatter_weight.run()

    def fill_label(self, codes: Tensor, to_code: Tensor, to_bias: Tensor) -> None:
        """Fill the gradients of what `LayerPass.fill_label` was given from ``to_label``."""
        if self._label is None:
            given = [codes, self.to_label, to_code, to_bias]
            size, work = len(to_code) + 1, to_code.numel()
            self._label = Call(tasks.label_gradients, given, size=size, work=work)
        for number, tensor in ((0, codes), (2, to_code), (3, to_bias)):
            self._label.give(number, tensor)
        self._label.run()


class _Packed:
    """The labels' own blocks of the weights from below, each in one piece.

    ``places`` are the row of them that each neuron of the previous layer has, and each label's own
    neurons.
    """

    def __init__(self, gate: Gate, below: Below | None, labels: int) -> None:
        self._gate, self._below = gate, None if below is None else below.gate
        self._used = torch.zeros(labels, dtype=torch.int32)
        self._pack: Call | None = None
        self.places: tuple[Tensor, Tensor] = gate.flat, gate.flat

    def fill(self, weight: Tensor, candidates: Tensor) -> Tensor:
        """Return the blocks (labels, own rows, own columns) of the labels that are asked for."""
        if self._pack is None:
            self._make(weight)
        assert self._pack is not None
        self._used.zero_()
        self._used[candidates.flatten().clamp(min=0)] = 1
        self._pack.give(0, weight)
        self._pack.run()
        return self._blocks

    def _make(self, weight: Tensor) -> None:
        labels, own = self._gate.flat.shape
        if self._below is None:  # every neuron of the previous layer may speak to every label
            whole = torch.arange(len(weight), dtype=torch.int32)
            rows = local = whole.repeat(labels, 1)
        else:
            rows, local = self._below.flat, self._below.local(len(weight))
        self.places = local, self._gate.flat
        self._blocks = torch.empty(labels, rows.shape[1], own)
        given = [weight, rows, self._gate.flat, self._used, self._blocks]
        self._pack = Call(tasks.pack, given, size=labels, work=4 * self._blocks.numel())


def _no_latent(candidates: Tensor) -> Winners:
    """Return what the first layer sees below."""
    value = torch.empty(*candidates.shape, 0)
    return Winners(value.int(), value)
