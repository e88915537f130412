"""What a kernel is asked for, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, Protocol

import torch
from torch import Tensor


@dataclass(frozen=True)
class Winners:
    """The neurons that stay active for each example and candidate label, positive half first.

    ``index`` and ``value`` are (batch, candidates, 2k). A candidate of -1 (no label) has winners
    that mean nothing.

    >>> index, value = torch.tensor([[[0, 3]]]), torch.tensor([[[0.5, 0.25]]])
    >>> from sffa.kernels import expand
    >>> expand(Winners(index, value), width=4)
    tensor([[[0.5000, 0.0000, 0.0000, 0.2500]]])
    """

    index: Tensor
    value: Tensor

    def under(self, candidates: Tensor) -> Winners:
        """Return the winners under some labels (batch, candidates), of those under every label."""
        columns = torch.arange(self.index.shape[1], device=candidates.device)
        if candidates.shape[1] == len(columns) and bool((candidates == columns).all()):
            return self
        places = candidates.clamp(min=0).long()[..., None].expand(-1, -1, self.index.shape[2])
        return Winners(self.index.gather(1, places), self.value.gather(1, places))


@dataclass(frozen=True)
class Gate:
    """Which neurons each label may use: ``own`` (labels, polarities, share), ascending.

    >>> gate = Gate(torch.tensor([[[0], [2]], [[1], [3]]]))  # two labels, one neuron of each half
    >>> gate.mask(width=4)
    tensor([[ True, False,  True, False],
            [False,  True, False,  True]])
    """

    own: Tensor

    @cached_property
    def flat(self) -> Tensor:
        """All neurons of each label (labels, own), int32."""
        return self.own.flatten(1).int().contiguous()

    def mask(self, width: int) -> Tensor:
        """Return (labels, width), true where the neuron is the label's own."""
        mask = torch.zeros(len(self.own), width, dtype=torch.bool, device=self.own.device)
        return mask.scatter_(1, self.flat.long(), True)

    def local(self, width: int) -> Tensor:
        """Return (labels, width): which of a label's own neurons each is; int32, 0 if none."""
        if width in self._locals:
            return self._locals[width]
        labels, own = self.flat.shape
        number = torch.arange(own, dtype=torch.int32, device=self.own.device).expand(labels, own)
        local = torch.zeros(labels, width, dtype=torch.int32, device=self.own.device)
        self._locals[width] = local.scatter_(1, self.flat.long(), number)
        return local

    @cached_property
    def _locals(self) -> dict[int, Tensor]:
        return {}


@dataclass(frozen=True)
class Incoming:
    """The previous layer's part of a drive: its latents, their weights and the gate they obey.

    >>> import torch
    >>> from sffa.kernels import get
    >>> latent = Winners(torch.tensor([[[0, 3]]]), torch.tensor([[[0.5, 0.25]]]))
    >>> incoming = Incoming(latent, weight=torch.ones(4, 6), gate=None)  # (width below, width)
    >>> rule, label = Rule(k=1, activation="relu", norm="unit"), torch.zeros(1, 6)
    >>> zero = torch.zeros(1, 1, dtype=torch.long)
    >>> kernel = get("torch", torch.device("cpu"))
    >>> kernel.answer(torch.zeros(1, 6), label, incoming, zero, rule, None).active.value
    tensor([[[0.7500, 0.7500]]])
    """

    latent: Winners
    weight: Tensor
    gate: Gate | None


@dataclass(frozen=True)
class Rule:
    """What happens to drives: ``k`` winners in each half, their activation, and the norm.

    ``norm`` is what the next layer's view of each half is divided by: ``unit``, its norm;
    ``literal``, its squared norm; ``rms``, its root mean square over the half.

    >>> Rule(k=15, activation="sigmoid", norm="unit")
    Rule(k=15, activation='sigmoid', norm='unit')
    """

    k: int
    activation: Literal["sigmoid", "relu"]
    norm: Literal["unit", "literal", "rms"]


class Answer(NamedTuple):
    """A layer's answer: ``energy`` (batch, candidates, 2) and ``activity`` (batch, candidates).

    Activity is the sum of the latents. ``active`` holds the winners' latents, ``latent`` the same
    normalised for the next layer; neither can be differentiated.

    >>> import torch
    >>> from sffa.kernels import get
    >>> shared, label = torch.zeros(3, 8), torch.randn(2, 8)  # batch, labels; neurons
    >>> every = torch.tensor([[0, 1]] * 3)
    >>> rule = Rule(k=2, activation="relu", norm="unit")
    >>> answer = get("torch", torch.device("cpu")).answer(shared, label, None, every, rule, None)
    >>> tuple(answer.energy.shape), tuple(answer.activity.shape), tuple(answer.active.index.shape)
    ((3, 2, 2), (3, 2), (3, 2, 4))
    """

    energy: Tensor
    activity: Tensor
    active: Winners
    latent: Winners


class Kernel(Protocol):
    """The arithmetic behind an SFFA layer. Backends agree on values and gradients.

    >>> import torch
    >>> from sffa.kernels import get
    >>> [get(name, torch.device("cpu")).name for name in ("torch", "numba")]
    ['torch', 'numba']
    """

    name: str

    def answer(
        self,
        shared: Tensor,
        label: Tensor,
        incoming: Incoming | None,
        candidates: Tensor,
        rule: Rule,
        gate: Gate | None,
    ) -> Answer:
        """Let the k largest drives of each half win, for each example and candidate label.

        The drive of example b and label y is ``shared[b] + label[y] + latent[b, y] @ weight``,
        with ``shared`` (batch, width) and ``label`` (labels, width); ``candidates`` is (batch,
        candidates), the label of each column or -1 for none. Gradients flow to ``shared``,
        ``label`` and ``weight`` and never to the latent.
        """
        ...

    def gradients(
        self,
        active: Winners,
        incoming: Incoming | None,
        candidates: Tensor,
        rule: Rule,
        shape: tuple[int, int],
        to_energy: Tensor,
        to_activity: Tensor | None,
        to_weight: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the gradients of ``shared``, ``label`` and ``weight``, without autograd.

        ``to_energy`` (batch, candidates, 2) and ``to_activity`` (batch, candidates) are those of
        an answer whose winners are ``active``, ``shape`` is that of ``label``. The gradient of
        ``weight`` is written into ``to_weight`` if given.
        """
        ...


TINY = 1e-12


def norm_factor(energy: Tensor, neurons: int, norm: str) -> Tensor:
    """Return what latents of that energy are multiplied by before the next layer sees them.

    The paper prints a division by the squared norm (eq. 2), which does not lead to the goodness
    of one half that it asks for; that is ``literal``.

    >>> import torch
    >>> norm_factor(torch.tensor(4.0), 100, "unit"), norm_factor(torch.tensor(4.0), 100, "literal")
    (tensor(0.5000), tensor(0.2500))
    """
    safe = energy.detach().clamp(min=TINY)
    if norm == "literal":
        return safe.reciprocal()
    return safe.rsqrt() * (neurons**0.5 if norm == "rms" else 1.0)
