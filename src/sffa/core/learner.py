"""The contract of whatever learns: SFFA, FFA and back-propagation alike to everyone above."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Self, overload

import numpy as np
import torch
from torch import Tensor, nn

from sffa.core import storage
from sffa.core.batch import Array, Task, part_of, tensor_of, whole_numbers
from sffa.core.config import Strict
from sffa.core.growth import Growth
from sffa.core.weight_inputs import WeightInputs
from sffa.errors import ConfigurationError, DataError, ModelFileError, SFFAError, warn_renamed
from sffa.extension import at_hand, reference_to

BLOCK = 512  # examples scored at once: larger ones are no faster, and FFA keeps every latent
KINDS: dict[str, type[Learner]] = {}  # what a model file calls each class that it can hold
_OLD_HOOKS = {"_make_room": "grow", "_targets": "targets", "contrasts": "training_labels"}


class Learner(nn.Module, ABC):
    """Classes met so far, the tasks they belong to, and standardised input.

    A class is a non-negative integer; its column, in scores and codes, is the order it was met in.
    Pixels as bytes are divided by 255; then, like all other input, ``mean`` is subtracted and the
    result divided by ``std``.

    A subclass needs `loss`, `outputs` and `grow`. One whose loss contrasts an example with labels
    (``contrastive``) also takes ``candidates`` and ``layer`` in `loss`, and has `depth` layers. One
    that learns without a gradient (``closed_form``) has `observe`, which a trainer calls in place
    of a step, once for each example.

    >>> import torch
    >>> from sffa import Backprop, Trainer
    >>> class Squared(Backprop):
    ...     def loss(self, x, y, task=None):
    ...         columns = self.columns(y)
    ...         target = self.targets(columns, self.candidates(len(columns), task))
    ...         return (self.outputs(x, task) - target.float()).square().sum(dim=1).mean()
    >>> learner = Squared(4, hidden=(8,), classes=range(2))
    >>> loss = Trainer(learner).step(torch.eye(4), torch.tensor([0, 0, 1, 1]))
    >>> tuple(learner.scores(torch.eye(4)).shape)  # examples, classes
    (4, 2)
    """

    mean: Tensor
    std: Tensor
    config: Strict
    contrastive: ClassVar[bool] = False
    closed_form: ClassVar[bool] = False
    _kept_affine: Any = None  # of the class too: learners pickled by earlier versions have none
    _kept_columns: Any = None
    _kept_candidates: Any = None

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.classes: list[int] = []
        self.tasks: dict[int, list[int]] = {}
        self.current: list[int] = []
        self.standardised = False
        self.new_among_new = False  # set by strategies such as ER-ACE; see `training_labels`
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("std", torch.ones(1))

    def __init_subclass__(cls, kind: str | None = None, **rest: Any) -> None:
        """Let files hold the class under the name ``kind``; take hooks under their old names."""
        super().__init_subclass__(**rest)
        if kind is not None:
            KINDS[kind] = cls
        for old, new in _OLD_HOOKS.items():
            if old in vars(cls):
                warn_renamed(f"the method {cls.__name__}.{old}", f"'{new}'")
                setattr(cls, new, vars(cls)[old])

    @abstractmethod
    def loss(self, x: Tensor, y: Tensor, task: Task = None) -> Tensor:
        """Return the loss of a batch, a scalar to differentiate: x (batch, ...), y (batch,)."""

    def backward(
        self, x: Tensor | Array, y: Tensor | Array, task: Task = None, **options: Any
    ) -> Tensor:
        """Set every parameter's gradient of a batch's `loss` and return the loss, detached.

        ``options`` are those of `loss`. A learner that knows its gradients without a graph, or
        wants others than those of its loss, overrides this.
        """
        self.zero_grad(set_to_none=True)
        loss = self.loss(x, y, task, **options)  # type: ignore[arg-type]
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def threads(self, batch: int) -> AbstractContextManager[None]:
        """Return the context that sets the threads of a step or a prediction; here torch's own."""
        return nullcontext()

    @abstractmethod
    def outputs(self, x: Tensor, task: Task = None) -> Tensor:
        """Return scores (batch, candidates) that can be differentiated."""

    @abstractmethod
    def grow(self, classes: list[int], task: int | None) -> list[Growth]:
        """Grow for classes just appended to ``self.classes``, and for what ``task`` now holds.

        Return what grew, so that optimisers and strategies can follow; `add_classes` calls it.
        """

    def observe(self, x: Tensor, y: Tensor, task: Task = None) -> None:
        """Learn from a batch in closed form: what it adds to is the same in any order."""
        raise ConfigurationError(f"a {type(self).__name__} learns by gradients, not in closed form")

    def forward(self, x: Tensor, task: Task = None) -> Tensor:
        """Return `outputs`, so that ``learner(x)`` works as with any module."""
        return self.outputs(x, task)

    @property
    def depth(self) -> int:
        """How many layers can be trained, and scored, one by one; 0 where they cannot."""
        return 0

    def layer_scores(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return every layer's own scores (layers, batch, candidates); `outputs` is their mean."""
        return self.outputs(x, task)[None]  # type: ignore[arg-type]

    def logits(self, x: Tensor | Array, task: Task = None) -> Tensor:
        """Return what a softmax over labels takes (layers, batch, candidates), layers apart.

        Strategies distil these: logits of a network with one output a class, the log-odds of each
        layer's goodness where every layer judges by itself.
        """
        return self.outputs(x, task)[None]  # type: ignore[arg-type]

    def weight_inputs(self, x: Tensor | Array, task: Task = None) -> Iterator[WeightInputs]:
        """Yield what each matrix of weights, and each bias, is multiplied by for some examples.

        It is what later steps must leave alone if the answers shall stay. Optional.
        """
        raise ConfigurationError(f"{type(self).__name__} does not tell what its weights multiply")

    def deepen(self, width: int) -> list[Growth]:
        """Add a layer on top."""
        raise ConfigurationError("only forward-forward networks can be deepened")

    def add_classes(self, classes: Sequence[int], task: int | None = None) -> list[Growth]:
        """Meet the classes of an experience; those already known just become the current ones."""
        given = listed(classes)
        try:
            wanted = [int(label) for label in given]
        except (TypeError, ValueError, OverflowError):
            wanted = []
        if wanted != given:
            raise DataError(
                f"classes are non-negative integers, got {given[:5]}; a dataset or "
                "SFFAClassifier gives numbers to names"
            )
        if not wanted:
            raise DataError("an experience needs at least one class")
        if min(wanted) < 0 or max(wanted) >= 2**63:
            wrong = next(label for label in wanted if not 0 <= label < 2**63)
            raise DataError(f"classes are non-negative integers, got {wrong}")
        if len(set(wanted)) < len(wanted):
            raise DataError(f"a class appears twice in {wanted}")
        if task is not None and task < 0:
            raise DataError(f"tasks are non-negative integers, got {task}")
        before = self.classes, self.current, self.tasks
        new = [label for label in wanted if label not in self.classes]
        self.classes = [*self.classes, *new]
        self.current = [self.classes.index(label) for label in wanted]
        if task is not None:
            known = self.tasks.get(task, [])
            added = [column for column in self.current if column not in known]
            self.tasks = {**self.tasks, task: [*known, *added]}
        try:
            return self.grow(new, task)
        except SFFAError:
            self.classes, self.current, self.tasks = before
            raise

    def standardise(self, mean: float | Tensor | Array, std: float | Tensor | Array) -> None:
        """Set what is subtracted from, and divides, every input: numbers or one value a feature."""
        for name, value in (("mean", mean), ("std", std)):
            vector = torch.as_tensor(value, dtype=torch.float32).reshape(-1)
            if vector.numel() not in (1, self.inputs):
                raise ConfigurationError(
                    f"{name} has {vector.numel()} values, expected 1 or {self.inputs}"
                )
            if name == "std" and not float(vector.min()) > 0:
                raise ConfigurationError(
                    "std must be positive; give features that never vary a std of 1"
                )
            known = getattr(self, name)
            if known.shape == vector.shape:  # as in every call of a stream whose scale is followed
                known.copy_(vector)
            else:
                setattr(self, name, vector.to(self.device, copy=True))
        self.standardised = True

    @property
    def device(self) -> torch.device:
        """Where the parameters live."""
        return self.mean.device

    @property
    def rows_at_once(self) -> int:
        """How many examples are best scored in one call of `outputs`."""
        return BLOCK

    def offload(self, folder: str | os.PathLike[str]) -> Any:
        """Let the layers wait in files of a folder."""
        raise ConfigurationError(
            "offload needs layers that learn one by one: only SFFA networks have them"
        )

    @property
    def megabytes(self) -> float:
        """What the learner keeps, weights and statistics, in 2**20 bytes."""
        kept: list[Tensor] = list(self.state_dict().values())
        return sum(tensor.numel() * tensor.element_size() for tensor in kept) / 2**20

    @property
    def compiled(self) -> bool:
        """Whether numba's loops are at work here, so that others may use them too."""
        return False

    def use_backend(self, name: str) -> None:
        """Take a backend of `sffa.kernels` from now on; a learner that has none stays as it is."""

    def prepare(self, x: Tensor | Array) -> Tensor:
        """Flatten a batch to (batch, inputs), move it to the device and standardise it."""
        tensor = tensor_of(x, self.device)
        self.check_features(tensor)
        if tensor.ndim != 2:
            tensor = tensor.reshape(len(tensor), self.inputs)
        shift, scale = self._affine(255.0 if tensor.dtype == torch.uint8 else 1.0)
        return torch.addcmul(shift, tensor.float(), scale)

    def check_features(self, x: Tensor) -> None:
        """Raise `DataError` for a batch whose examples have other than ``inputs`` features."""
        shape = x.shape
        if not shape or (shape[0] and shape[1:].numel() != self.inputs):
            raise DataError(
                f"expected examples of {self.inputs} features, got a batch of shape {tuple(shape)}"
            )

    def _affine(self, unit: float) -> tuple[Tensor, Tensor]:
        """Return what `prepare` adds and multiplies by, kept until mean or deviation change."""
        mean, std = self.mean, self.std
        now = unit, id(mean), mean._version, id(std), std._version
        kept = self._kept_affine
        if kept is None or kept[0] != now:
            scale = (unit * std).reciprocal()
            kept = now, -mean / std, scale, mean, std  # held, so that ids stay theirs
            self._kept_affine = kept
        return kept[1], kept[2]

    def columns(self, y: Tensor | Array) -> Tensor:
        """Return the column of each label."""
        labels = whole_numbers(y, self.device)
        if labels.ndim != 1:
            raise DataError(f"expected one label an example, got the shape {tuple(labels.shape)}")
        if self.classes == list(range(len(self.classes))) and _all_below(labels, len(self.classes)):
            return labels
        if self._kept_columns is None or self._kept_columns[0] != (self.classes, self.device):
            known = torch.tensor(self.classes, device=self.device)
            self._kept_columns = (list(self.classes), self.device), *known.sort()
        ordered, order = self._kept_columns[1:]
        place = torch.searchsorted(ordered, labels).clamp_(max=max(len(self.classes) - 1, 0))
        if not self.classes or not torch.equal(ordered[place], labels):
            wrong = [label for label in torch.unique(labels).tolist() if label not in self.classes]
            raise DataError(f"labels {wrong[:5]} are not among the classes met: {self.classes}")
        return order[place]  # type: ignore[no-any-return]

    def candidates(self, batch: int, task: Task) -> Tensor:
        """Return the columns that are possible for each example (batch, candidates); -1 is none."""
        if not self.classes:
            raise DataError("the learner has met no class yet; call add_classes first")
        if task is None:
            return self._all_columns(batch)
        tasks = self.task_of_each(batch, task)
        unknown = [t for t in torch.unique(tasks).tolist() if t not in self.tasks]
        if unknown:
            raise DataError(f"unknown task {unknown[0]}; known tasks: {sorted(self.tasks)}")
        known = sorted(self.tasks)  # a row for each, as a number of a task may be large
        size = max(len(columns) for columns in self.tasks.values())
        table = torch.full((len(known), size), -1, device=self.device)
        for row, key in enumerate(known):
            columns = self.tasks[key]
            table[row, : len(columns)] = torch.tensor(columns, device=self.device)
        rows = torch.searchsorted(torch.tensor(known, device=self.device), tasks.contiguous())
        chosen = table[rows]
        return chosen[:, (chosen >= 0).any(dim=0)] if batch else chosen

    def _all_columns(self, batch: int) -> Tensor:
        """Return every column for each example, kept for the next batch of that size."""
        now = len(self.classes), batch, self.device
        if self._kept_candidates is None or self._kept_candidates[0] != now:
            columns = torch.arange(len(self.classes), device=self.device)
            self._kept_candidates = now, columns.expand(batch, -1)
        return self._kept_candidates[1]  # type: ignore[no-any-return]

    def task_of_each(self, batch: int, task: Task) -> Tensor:
        """Return the task of each example."""
        tasks = whole_numbers(task, self.device, "task").reshape(-1)
        if len(tasks) not in (1, batch):
            raise DataError(f"expected one task, or one for each of {batch}, got {len(tasks)}")
        return tasks.expand(batch)

    def training_labels(self, column: Tensor, task: Task) -> Tensor:
        """Return the columns that each example is trained with (batch, candidates); -1 is none.

        With ``contrast_with="current"``, or if a strategy asks for it, examples of the classes at
        hand are contrasted with those alone, so that new data never pushes old labels down;
        replayed ones with all classes.
        """
        seen = self.candidates(len(column), task)
        if not self.contrasts_current or task is not None:
            return seen
        current = torch.zeros(len(self.classes), dtype=torch.bool, device=self.device)
        current[self.current] = True
        allowed = current | ~current[column][:, None]
        if bool(allowed.all()):
            return seen
        if not bool((~current[column]).any()):
            return torch.tensor(self.current, device=self.device).expand(len(column), -1)
        return seen.masked_fill(~allowed, -1)

    @property
    def contrasts_current(self) -> bool:
        """Whether new examples are contrasted with the classes at hand alone."""
        config = getattr(self, "config", None)
        return self.new_among_new or getattr(config, "contrast_with", "seen") == "current"

    def targets(self, column: Tensor, candidates: Tensor) -> Tensor:
        """Return which candidate (batch, candidates) is each example's label; one must be."""
        target = candidates == column[:, None]
        missing = ~target.any(dim=1)
        if bool(missing.any()):
            label = self.classes[int(column[missing][0])]
            raise DataError(f"label {label} does not belong to the task it was given with")
        return target

    @overload
    def scores(self, x: Tensor, task: Task = None) -> Tensor: ...
    @overload
    def scores(self, x: Array, task: Task = None) -> Array: ...
    @torch.no_grad()
    def scores(self, x: Tensor | Array, task: Task = None) -> Tensor | Array:
        """Return the scores (batch, candidates), columns as in ``classes``, or in the task's."""
        rows = x if isinstance(x, Tensor) else tensor_of(x, torch.device("cpu"))
        if not rows.ndim:
            raise DataError(f"expected examples of {self.inputs} features, got a single number")
        size = self.rows_at_once
        with self.threads(min(len(rows), BLOCK)):
            blocks = [
                self.outputs(rows[start : start + size], part_of(task, start, size))
                for start in range(0, max(len(rows), 1), size)
            ]
        scores = blocks[0] if len(blocks) == 1 else torch.cat(blocks)
        if bool(scores.isnan().any()):
            wrong = int(scores.isnan().any(dim=1).nonzero()[0])
            raise DataError(f"example {wrong} has values, or meets weights, that are not finite")
        return scores if isinstance(x, Tensor) else scores.cpu().numpy()

    @overload
    def predict(self, x: Tensor, task: Task = None) -> Tensor: ...
    @overload
    def predict(self, x: Array, task: Task = None) -> Array: ...
    def predict(self, x: Tensor | Array, task: Task = None) -> Tensor | Array:
        """Return the class of the largest score for each example."""
        best = torch.as_tensor(self.scores(x, task)).argmax(dim=1)
        if task is not None:
            columns = self.candidates(len(best), task).to(best.device)
            best = columns.gather(1, best[:, None]).squeeze(1)
        if not isinstance(x, Tensor):
            named: Array = np.asarray(self.classes)[best.cpu().numpy()]
            return named
        return torch.tensor(self.classes, device=best.device)[best]

    def save(
        self,
        path: str | os.PathLike[str],
        trainer: Any = None,
        notes: dict[str, Any] | None = None,
    ) -> None:
        """Write the learner to a safetensors file, with the trainer's state when given."""
        if trainer is not None:
            trainer.save(path, notes)
        else:
            storage.write(path, self.header(notes), self.state_dict())

    def header(self, notes: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what a model file says of this learner; ``notes`` are JSON-ready."""
        kind = kind_of(type(self))
        if kind is None:
            raise ModelFileError(
                f"a {type(self).__name__} cannot be saved here: it would come back as something "
                "else; define it in a module, with a config and restore, or keep its state_dict()"
            )
        return {
            "kind": kind,
            "config": self.config.model_dump(mode="json"),
            "classes": self.classes,
            "tasks": {str(task): columns for task, columns in self.tasks.items()},
            "current": self.current,
            "notes": notes or {},
        }

    @classmethod
    def restore(
        cls, config: dict[str, Any], classes: list[int], tensors: dict[str, Tensor]
    ) -> Self:
        """Make a learner with parameters as large as a file's; sizes are checked first."""
        raise ModelFileError(f"a {cls.__name__} cannot be read from a file")

    def check_restored(self) -> None:
        """Refuse classes and tasks of a file that do not go with its tensors."""


def listed(classes: Iterable[int]) -> list[int]:
    """Return classes as a list; a number is none."""
    try:
        return list(classes)
    except TypeError:
        raise DataError(
            f"classes are a list of labels such as range(10), got {classes!r}"
        ) from None


def _all_below(labels: Tensor, count: int) -> bool:
    """Whether labels are 0, 1, … below a number; on a CPU, where looking costs little."""
    if not labels.numel() or not labels.is_cpu:
        return False
    least, most = labels.aminmax()
    return int(least) >= 0 and int(most) < count


def kind_of(cls: type[Learner]) -> str | None:
    """Return what a file calls a class: its kind, or ``module:Class`` of one's own; None: nothing.

    One's own needs `restore`, which subclasses of `Network` and `Backprop` have, and must be found
    under its name.
    """
    known = next((name for name, each in KINDS.items() if each is cls), None)
    name = reference_to(cls)
    own = cls.restore.__func__ is not Learner.restore.__func__  # type: ignore[attr-defined]
    return known or (name if own and at_hand(name) is cls else None)
