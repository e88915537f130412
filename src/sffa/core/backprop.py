"""The back-propagation baseline: a multilayer perceptron behind the same contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from sffa.core.batch import Array, Task
from sffa.core.budget import check_memory
from sffa.core.config import Seed, Strict, Widths
from sffa.core.growth import Growth, grow
from sffa.core.layers import uniform
from sffa.core.learner import Learner, listed
from sffa.core.seeds import generator
from sffa.core.weight_inputs import WeightInputs
from sffa.errors import DataError, ModelFileError
from sffa.kernels.products import linear


class BackpropConfig(Strict):
    """The baseline of the paper: ReLU, cross-entropy, hidden layers as wide as the others'.

    >>> BackpropConfig(inputs=64, hidden=(40, 40)).contrast_with
    'seen'
    """

    inputs: int = Field(ge=1, description="features of an example")
    hidden: Widths = (1400, 1400)
    seed: Seed = Field(default=0, description="of the weights")
    contrast_with: Literal["seen", "current"] = Field(
        default="seen", description="classes that a new example competes with"
    )


class Backprop(Learner, kind="backprop"):
    """A multilayer perceptron with one output a class, or one head a task.

    The output grows with the classes met; a class not met is never predicted. Classes added with
    a task have a head of their own, and only that head's outputs compete.

    Examples
    --------
    >>> import torch, sffa
    >>> net = sffa.Backprop(4, hidden=(8,), classes=range(3))
    >>> net.predict(torch.ones(2, 4)).shape
    torch.Size([2])
    """

    config: BackpropConfig
    heads: nn.ModuleDict

    def __init__(
        self,
        inputs: int,
        hidden: Iterable[int] = (1400, 1400),
        classes: Iterable[int] = (),
        seed: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(inputs)
        self.config = BackpropConfig(inputs=inputs, hidden=hidden, seed=seed, **options)
        check_memory(inputs, self.config.hidden, None)
        widths = [inputs, *self.config.hidden]
        self.body = nn.Sequential()
        for number, (fan_in, width) in enumerate(pairwise(widths)):
            self.body.append(_linear(fan_in, width, generator(seed, "backprop", number)))
            self.body.append(nn.ReLU())
        self.heads = nn.ModuleDict()
        known = listed(classes)
        if known:
            self.add_classes(known)

    def loss(
        self,
        x: Tensor | Array,
        y: Tensor | Array,
        task: Task = None,
        *,
        weight: Tensor | None = None,
    ) -> Tensor:
        """Return the mean cross-entropy over the classes met, or over those of each one's task.

        With ``contrast_with="current"`` (the labels trick, Zeno 2018) new examples compete within
        the classes at hand alone. ``weight`` (batch,) is what each example counts.
        """
        column = self.columns(y)
        if len(column) != len(x):
            raise DataError(f"{len(x)} examples and {len(column)} labels do not match")
        candidates = self.training_labels(column, task)
        target = self.targets(column, candidates).int().argmax(dim=1)
        logits = self.outputs(x, task)
        if self.contrasts_current and task is None:
            logits = logits.gather(1, candidates.clamp(min=0))
            logits = logits.masked_fill(candidates < 0, -torch.inf)
        if weight is None:
            return F.cross_entropy(logits, target)
        losses = F.cross_entropy(logits, target, reduction="none")
        return (losses * weight).sum() / weight.sum()

    def outputs(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return the logits (batch, candidates); where an example has no candidate, -inf."""
        hidden: Tensor = self.body(self.prepare(x))
        candidates = self.candidates(len(hidden), task)
        if task is None:
            return self._head(None, hidden)
        tasks = self.task_of_each(len(hidden), task)
        present = torch.unique(tasks).tolist()
        if len(present) == 1:
            return self._head(present[0], hidden)
        logits = hidden.new_full(candidates.shape, -torch.inf)
        for number in present:
            rows = tasks == number
            answer = self._head(number, hidden[rows])
            logits[rows, : answer.shape[1]] = answer
        return logits

    @torch.no_grad()
    def weight_inputs(self, x: Tensor | Array, task: Task = None) -> Iterator[WeightInputs]:
        """See `Learner.weight_inputs`: the activity below each layer, and below the heads asked."""
        hidden = self.prepare(x)
        one = hidden.new_ones(1, 1)
        for number, layer in enumerate(self.body):
            if isinstance(layer, nn.Linear):
                yield WeightInputs(f"body.{number}.weight", 1, hidden)
                yield WeightInputs(f"body.{number}.bias", None, one)
            hidden = layer(hidden)
        tasks = None if task is None else self.task_of_each(len(hidden), task)
        for key in ["all"] if tasks is None else torch.unique(tasks).tolist():
            rows = hidden if tasks is None else hidden[tasks == key]
            yield WeightInputs(f"heads.{key}.weight", 1, rows)
            yield WeightInputs(f"heads.{key}.bias", None, one)

    def _head(self, task: int | None, hidden: Tensor) -> Tensor:
        head = self._find("all" if task is None else str(task))
        if task is None and (head is None or len(head.weight) != len(self.classes)):
            raise DataError("the classes were met in tasks, each with its head: say which task")
        assert head is not None
        logits: Tensor = head(hidden)
        return logits

    def _find(self, key: str) -> nn.Linear | None:
        head = self.heads[key] if key in self.heads else None  # noqa: SIM401 (has no get)
        assert head is None or isinstance(head, nn.Linear)
        return head

    def grow(self, classes: list[int], task: int | None) -> list[Growth]:
        """See `Learner.grow`: outputs for the classes, in the task's head or in the one of all."""
        if task is not None:
            return self._size_head(str(task), len(self.tasks[task]))
        return self._size_head("all", len(self.classes)) if classes else []

    @classmethod
    def restore(
        cls, config: dict[str, Any], classes: list[int], tensors: dict[str, Tensor]
    ) -> Self:
        """See `Learner.restore`: heads are as large as the file's."""
        checked = BackpropConfig(**config)
        for number, (fan_in, width) in enumerate(pairwise([checked.inputs, *checked.hidden])):
            found = tuple(tensors[f"body.{2 * number}.weight"].shape)
            if found != (width, fan_in):
                raise ModelFileError(f"layer {number} has weights of shape {found}")
        learner = cls(**config)
        learner.classes = list(classes)
        for name, value in tensors.items():
            where, _, rest = name.partition(".")
            if where == "heads" and rest.endswith(".bias"):
                weight = tensors[f"{name.removesuffix('.bias')}.weight"]
                if tuple(weight.shape) != (len(value), checked.hidden[-1]):
                    raise ModelFileError(f"a head has weights of shape {tuple(weight.shape)}")
                learner._size_head(rest.removesuffix(".bias"), len(value))
        return learner

    def check_restored(self) -> None:
        """See `Learner.check_restored`: every task has a head, as large as the task."""
        for task, columns in self.tasks.items():
            head = self._find(str(task))
            if head is None or len(head.weight) != len(columns):
                raise ModelFileError(f"task {task} has {len(columns)} classes and no such head")

    def _size_head(self, key: str, count: int) -> list[Growth]:
        """Make a head, or add outputs to it, until it has ``count``."""
        head = self._find(key)
        if head is not None and len(head.weight) == count:
            return []
        fan_in = self.config.hidden[-1]
        rng = generator(self.config.seed, f"head {key}", count)
        fresh = _linear(fan_in, count, rng).to(self.device)
        if head is None:
            self.heads[key] = fresh
            return [Growth(f"heads.{key}.{n}", None, p) for n, p in fresh.named_parameters()]
        growths = []
        for name, parameter in list(head.named_parameters()):
            values = getattr(fresh, name).detach()
            places = tuple(torch.arange(size) for size in parameter.shape)
            growth = grow(parameter, values, places, f"heads.{key}.{name}")
            setattr(head, name, growth.new)
            growths.append(growth)
        return growths


class _Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        """Return what `torch.nn.Linear` does, multiplied as this processor does it best."""
        return linear(x, self.weight, self.bias)


def _linear(fan_in: int, width: int, rng: Any) -> nn.Linear:
    """Make a linear layer with torch's default distribution, drawn from our generator."""
    layer = _Linear(fan_in, width, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(uniform(rng, fan_in**-0.5, *parameter.shape))
    return layer
