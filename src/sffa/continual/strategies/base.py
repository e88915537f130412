"""The contract of a strategy: a few narrow hooks around the loop, all optional."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sffa.continual.stream import AnyStream, Experience
from sffa.continual.views import View
from sffa.core import Epoch, Growth, Learner
from sffa.core.batch import Batch, Clock, join
from sffa.core.hooks import Step, StepHooks
from sffa.errors import ConfigurationError, nearest, warn_renamed

_OLD_HOOKS = {"penalty": "add_penalty_gradients"}
# What first-format checkpoints call what a strategy keeps.
_OLD_NAMES = {"beside": "parameter_state", "memory": "buffers"}
_OLD_KINDS = {"stiffness": "curvature", "pull": "offset"}


class Strategy(StepHooks):
    """Nothing by itself: subclasses override the hooks they need.

    A strategy sees a Learner and never asks which algorithm it is. What it keeps is in two
    dictionaries, so that the loop can save, restore, grow and weigh any strategy alike:
    ``parameter_state`` holds tensors shaped like parameters (kind, then the parameter's name),
    which grow with them; ``buffers`` holds everything else, stored examples above all. A run that
    is resumed finds only these two as they were: one whose strategy changed anything else is
    refused, but for attributes named in ``transient``, which are computed again when needed.
    ``seed`` and ``batch_size`` are those of the run. ``needs_gradients``: whether it is of no use
    to a learner without any.

    >>> class Decay(Strategy):
    ...     def add_penalty_gradients(self, learner):
    ...         for parameter in learner.parameters():
    ...             parameter.grad.add_(parameter.detach(), alpha=1e-3)
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> run(config, load("digits"), strategy=Decay()).done
    5
    """

    needs_gradients: ClassVar[bool] = True
    transient: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, seed: int = 0, batch_size: int = 512) -> None:
        self._check_hooks()
        self.seed = seed
        self.batch_size = batch_size
        self.parameter_state: dict[str, dict[str, Tensor]] = {}
        self.buffers: dict[str, Tensor] = {}

    def __init_subclass__(cls, **rest: Any) -> None:
        """Take hooks under their old names."""
        super().__init_subclass__(**rest)
        for old, new in _OLD_HOOKS.items():
            if old in vars(cls):
                warn_renamed(f"the hook {cls.__name__}.{old}", f"'{new}'")
                setattr(cls, new, vars(cls)[old])

    @classmethod
    def _check_hooks(cls) -> None:
        """Refuse what looks like a hook and would never be called."""
        hooks = [name for name in dir(Strategy) if not name.startswith("_")]
        for name in dir(cls):
            if name.startswith(("before_", "after_")) and name not in hooks:
                raise ConfigurationError(
                    f"'{cls.__name__}' has a method '{name}' that nothing calls"
                    f"{nearest(name, hooks)}; the hooks are {', '.join(hooks)}"
                )

    @property
    def beside(self) -> dict[str, dict[str, Tensor]]:
        """The old name of ``parameter_state``."""
        warn_renamed("Strategy.beside", "'parameter_state'")
        return self.parameter_state

    @property
    def memory(self) -> dict[str, Tensor]:
        """The old name of ``buffers``."""
        warn_renamed("Strategy.memory", "'buffers'")
        return self.buffers

    def join_run(self, seed: int, batch_size: int) -> None:
        """Take the seed and the batch size of the run that this strategy serves."""
        self.seed, self.batch_size = seed, batch_size

    def attach(self, learner: Learner) -> None:
        """Set what the learner must know of this strategy; called when a run starts or goes on."""

    def check(self, stream: AnyStream) -> None:
        """Refuse a stream that this strategy cannot serve."""

    @property
    def needs_boundaries(self) -> bool:
        """Whether it acts where an experience ends, and has no `observe` for streams without."""
        kind = type(self)
        acts = (
            kind.after_experience is not Strategy.after_experience
            or kind.training_view is not Strategy.training_view
        )
        return acts and kind.observe is Strategy.observe

    def grow(self, growths: Sequence[Growth]) -> None:
        """Follow parameters that grew; new entries are zero, and so free of penalties."""
        for growth in growths:
            for tensors in self.parameter_state.values():
                if growth.old is not None and growth.name in tensors:
                    tensors[growth.name] = growth.expand(tensors[growth.name])

    def training_view(self, experience: Experience, past: Sequence[Experience]) -> View:
        """Return what an experience is trained on; only joint training looks at the past."""
        return experience.train

    def before_experience(self, learner: Learner, experience: Experience) -> None:
        """Prepare; the learner knows the new classes already."""

    def after_experience(self, learner: Learner, experience: Experience) -> None:
        """Remember what later experiences need."""

    def observe(self, learner: Learner, experience: Experience) -> None:
        """Remember what later batches need, in a stream without boundaries: after each batch."""

    def tensors(self) -> dict[str, Tensor]:
        """Return everything the strategy keeps, by flat names."""
        kept = {
            f"parameter_state.{kind}.{name}": tensor
            for kind, tensors in self.parameter_state.items()
            for name, tensor in tensors.items()
        }
        kept |= {f"buffers.{name}": tensor for name, tensor in self.buffers.items()}
        for name, value in kept.items():
            if not isinstance(value, Tensor):
                raise ConfigurationError(
                    f"{type(self).__name__} keeps {name}, a {type(value).__name__}; what a "
                    "strategy keeps are tensors"
                )
        return kept

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `tensors` returned."""
        for flat, tensor in tensors.items():
            where, _, rest = flat.partition(".")
            if _OLD_NAMES.get(where, where) == "buffers":
                self.buffers[rest] = tensor
            else:
                kind, _, name = rest.partition(".")
                kind = _OLD_KINDS.get(kind, kind) if where in _OLD_NAMES else kind
                self.parameter_state.setdefault(kind, {})[name] = tensor

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:
        """Refuse buffers that this strategy cannot have kept: anyone may write a checkpoint."""

    @property
    def members(self) -> Sequence[Strategy]:
        """The strategies that are at work: itself, or those of a `Combined`."""
        return [self]

    @property
    def megabytes(self) -> float:
        """What the strategy keeps, in 2**20 bytes."""
        return sum(t.numel() * t.element_size() for t in self.tensors().values()) / 2**20


class Combined(Strategy):
    """Several strategies at work together, in the order given.

    >>> from sffa.continual import EWC, Combined, Replay
    >>> both = Combined([Replay(capacity=50), EWC(strength=10.0)])
    >>> [type(part).__name__ for part in both.parts]
    ['Replay', 'EWC']
    """

    def __init__(self, parts: Sequence[Strategy]) -> None:
        super().__init__()
        self.parts = list(parts)

    @property
    def members(self) -> Sequence[Strategy]:  # noqa: D102
        return self.parts

    def join_run(self, seed: int, batch_size: int) -> None:  # noqa: D102
        super().join_run(seed, batch_size)
        for part in self.parts:
            part.join_run(seed, batch_size)

    def attach(self, learner: Learner) -> None:  # noqa: D102
        for part in self.parts:
            part.attach(learner)

    @property
    def needs_boundaries(self) -> bool:  # noqa: D102
        return any(part.needs_boundaries for part in self.parts)

    def observe(self, learner: Learner, experience: Experience) -> None:  # noqa: D102
        for part in self.parts:
            part.observe(learner, experience)

    def check(self, stream: AnyStream) -> None:  # noqa: D102
        for part in self.parts:
            part.check(stream)

    def grow(self, growths: Sequence[Growth]) -> None:  # noqa: D102
        for part in self.parts:
            part.grow(growths)

    def training_view(self, experience: Experience, past: Sequence[Experience]) -> View:  # noqa: D102
        views = [part.training_view(experience, past) for part in self.parts]
        return max(views, key=len)

    def before_experience(self, learner: Learner, experience: Experience) -> None:  # noqa: D102
        for part in self.parts:
            part.before_experience(learner, experience)

    def extra_batch(self, clock: Clock) -> Batch | None:  # noqa: D102
        extra = [batch for part in self.parts if (batch := part.extra_batch(clock)) is not None]
        return join(extra) if extra else None

    @property
    def has_extra_loss(self) -> bool:  # noqa: D102
        return any(part.has_extra_loss for part in self.parts)

    def extra_loss(self, learner: Learner, batch: Batch, clock: Clock) -> Tensor | None:  # noqa: D102
        found = [part.extra_loss(learner, batch, clock) for part in self.parts]
        terms = [term for term in found if term is not None]
        return sum(terms[1:], start=terms[0]) if terms else None

    def add_penalty_gradients(self, learner: Learner) -> None:  # noqa: D102
        for part in self.parts:
            part.add_penalty_gradients(learner)

    def after_backward(self, learner: Learner, clock: Clock) -> None:  # noqa: D102
        for part in self.parts:
            part.after_backward(learner, clock)

    def after_step(self, learner: Learner) -> None:  # noqa: D102
        for part in self.parts:
            part.after_step(learner)

    def after_batch(self, learner: Learner, step: Step) -> None:  # noqa: D102
        for part in self.parts:
            part.after_batch(learner, step)

    def after_epoch(self, learner: Learner, epoch: Epoch, clock: Clock) -> None:  # noqa: D102
        for part in self.parts:
            part.after_epoch(learner, epoch, clock)

    def after_experience(self, learner: Learner, experience: Experience) -> None:  # noqa: D102
        for part in self.parts:
            part.after_experience(learner, experience)

    def tensors(self) -> dict[str, Tensor]:  # noqa: D102
        return {
            f"{number}.{name}": tensor
            for number, part in enumerate(self.parts)
            for name, tensor in part.tensors().items()
        }

    @property
    def megabytes(self) -> float:  # noqa: D102
        return sum(part.megabytes for part in self.parts)

    def restore(self, tensors: dict[str, Tensor]) -> None:  # noqa: D102
        for number, part in enumerate(self.parts):
            mark = f"{number}."
            part.restore(
                {n.removeprefix(mark): t for n, t in tensors.items() if n.startswith(mark)}
            )

    def check_restored(self, learner: Learner, stream: AnyStream) -> None:  # noqa: D102
        for part in self.parts:
            part.check_restored(learner, stream)


def named(learner: Learner) -> dict[str, nn.Parameter]:
    """Return the parameters by name, in one fixed order."""
    return dict(learner.named_parameters())


def zeros_like(parameters: dict[str, nn.Parameter]) -> dict[str, Tensor]:
    """Return a zero for every entry of every parameter."""
    return {name: torch.zeros_like(p, requires_grad=False) for name, p in parameters.items()}


def snapshot(parameters: dict[str, nn.Parameter]) -> dict[str, Tensor]:
    """Return a copy of the weights, which never follows them."""
    return {name: parameter.detach().clone() for name, parameter in parameters.items()}


def gradients(learner: Learner, losses: Iterator[Tensor]) -> Iterator[dict[str, Tensor]]:
    """Yield the gradient of each loss by parameter, where it reaches; ``.grad`` stays untouched.

    Each is emptied when the next is asked for, so that its memory serves again.
    """
    parameters = named(learner)
    for loss in losses:
        found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        reached = {n: g for n, g in zip(parameters, found, strict=True) if g is not None}
        del found, loss
        yield reached
        reached.clear()
