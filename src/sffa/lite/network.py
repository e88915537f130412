"""A network that predicts, learns on and is saved, with NumPy alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from sffa.errors import ConfigurationError, DataError, ModelFileError, SFFAError
from sffa.files import PathLike
from sffa.lite import config as configuration
from sffa.lite import formulas, growth, model_file
from sffa.lite.config import Config
from sffa.lite.formulas import Answer, Array, Layer, Product
from sffa.lite.optimizer import Adam
from sffa.seeds import generator

BLOCK = 16  # examples looked at together: memory is batch × classes × width
NEGATIVES = ("all", "uniform", "hard")


class Network:
    """SFFA or FFA, for classes given now or met later; the same seed, the same network as `sffa`.

    Parameters
    ----------
    inputs, hidden, algorithm, classes, seed
        As in `sffa.Network`.
    lr
        Adam's step size.
    negatives
        Labels an example is contrasted with: ``"all"``, ``"uniform"`` or ``"hard"``.
    dtype
        Of weights and arithmetic.
    layers
        Layers to take in place of those that the seed draws.
    **options
        Any other field of `Config`.

    Examples
    --------
    >>> net = Network(4, hidden=(40,), k=5, lr=1e-2)
    >>> for _ in range(50):
    ...     net = net.partial_fit(np.eye(4), [0, 0, 1, 1])
    >>> net.predict(np.eye(4)).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        inputs: int,
        hidden: Iterable[int] = (1400, 1400),
        algorithm: str = "sffa",
        classes: Iterable[int] = (),
        seed: int = 0,
        *,
        lr: float = 1e-3,
        negatives: str = "all",
        dtype: Any = np.float32,
        layers: list[Layer] | None = None,
        **options: Any,
    ) -> None:
        known = list(classes)
        given = {"inputs": inputs, "hidden": hidden, "algorithm": algorithm, "seed": seed}
        self.config = configuration.make(known, **given, **options)
        self.dtype = np.dtype(dtype)
        size = 0 if self.config.codes == "onehot" else self.config.code_size
        self.codes: Array = np.zeros((0, size), self.dtype)
        self.layers = growth.new_layers(self.config, size) if layers is None else layers
        self.classes: list[int] = []
        self.current: list[int] = []
        self.tasks: dict[str, list[int]] = {}
        self.mean, self.std = np.zeros(1, np.float32), np.ones(1, np.float32)
        self.reach: float | None = None
        self.labels: list[Any] | None = None
        self.notes: dict[str, Any] = {}
        self.training: dict[str, Any] = {"schedule": "online", "lr_schedule": "constant"}
        self.training |= {"seed": seed, "epochs_done": 0, "layer": None, "input_dropout": 0.0}
        self.negatives = negatives
        self.rng = generator(seed, "training")
        self.optimizer = Adam(lr)
        self.loss = float("nan")
        self._check()
        self._set_dtype()
        if known:
            self.add_classes(known)

    def _check(self) -> None:
        if self.negatives not in NEGATIVES:
            raise ConfigurationError(f"negatives is one of {', '.join(NEGATIVES)}")
        if self.dtype.kind != "f":
            raise ConfigurationError(f"dtype must be floating point, got {self.dtype}")
        if self.config.gate is not None:
            _ = self.config.shares  # refuses shares too small for the winners

    def _set_dtype(self) -> None:
        self.codes = self.codes.astype(self.dtype, copy=False)
        for layer in self.layers:
            for name, block in layer.blocks.items():
                setattr(layer, name, block.astype(self.dtype, copy=False))

    def standardise(self, mean: Any, std: Any) -> None:
        """Set what is subtracted from, and divides, every input: numbers or one a feature."""
        self.mean = np.atleast_1d(np.asarray(mean, np.float32))
        self.std = np.atleast_1d(np.asarray(std, np.float32))
        if any(each.shape not in ((1,), (self.config.inputs,)) for each in (self.mean, self.std)):
            raise ConfigurationError(f"expected 1 or {self.config.inputs} means and deviations")
        if not (self.std > 0).all():
            raise ConfigurationError("std must be positive; features that never vary have 1")

    def scores(self, x: Any) -> Array:
        """Return the goodness of each class (batch, classes), the mean over the layers."""
        scores: Array = self.layer_scores(x).mean(axis=0)
        return scores

    @np.errstate(over="ignore", invalid="ignore")
    def layer_scores(self, x: Any) -> Array:
        """Return the goodness that each layer gives each class (layers, batch, classes)."""
        rows = self._rows(x)
        if not self.classes:
            raise DataError("the network has met no class yet; call partial_fit first")
        scores = np.empty((len(self.layers), len(rows), len(self.classes)), self.dtype)
        for start in range(0, len(rows), BLOCK):
            part = self.prepare(rows[start : start + BLOCK])
            candidates = np.tile(np.arange(len(self.classes)), (len(part), 1))
            for layer, _, given in self.passes(part, candidates):
                place = layer.number, slice(start, start + BLOCK)
                scores[place] = formulas.score(self.config, layer.number, given.energies)
        if not np.isfinite(scores).all():
            raise DataError("some examples have values, or meet weights, that are not finite")
        return scores

    def predict(self, x: Any) -> Array:
        """Return the class of the largest goodness; of a saved classifier, the label's name."""
        names: Array = np.asarray(self.classes if self.labels is None else self.labels)
        order = np.arange(len(names)) if self.labels is None else np.argsort(names)
        best = self.scores(x)[:, order].argmax(axis=1)  # the first, where two are equally good
        labels: Array = names[order][best]
        return labels

    @np.errstate(over="ignore", invalid="ignore")
    def partial_fit(self, x: Any, y: Any) -> Self:
        """Learn from one batch in one step of Adam; classes not met before are met.

        ``loss`` is then the batch's, before the step. Each layer learns as soon as it has answered:
        no layer waits for another, unless ``coupling="product"`` ties them.
        """
        rows = self._rows(x)
        numbers = self._numbers(y)
        if len(rows) != len(numbers) or not len(rows):
            raise DataError(f"as many labels as examples: got {len(rows)} and {len(numbers)}")
        images = self.prepare(rows)
        if not np.isfinite(images).all():
            wrong = int(np.argmin(np.isfinite(images).all(axis=1)))
            raise DataError(f"example {wrong} of the batch has a value that is not finite")
        new = sorted({*numbers.tolist()} - {*self.classes})
        if new:
            self.add_classes(new)
        columns = np.array([self.classes.index(number) for number in numbers.tolist()])
        if share := self.training["input_dropout"]:  # a hidden value is its mean
            images[self.rng.random(images.shape, np.float32) < share] = 0
        candidates = self._negatives(images, columns)
        self.loss = 0.0
        for layer, loss, gradients in self.gradients(images, columns, candidates):
            if not np.isfinite(loss):
                raise DataError(f"the loss of layer {layer.number} is {loss}: lower lr")
            self.loss += loss
            for name, block in layer.blocks.items():
                self.optimizer.step(f"layers.{layer.number}.{name}", block, gradients[name])
        return self

    def add_classes(self, classes: Sequence[int]) -> None:
        """Meet classes, non-negative integers; those already known just become the current ones."""
        new = [label for label in classes if label not in self.classes]
        if any(not 0 <= label < 2**63 for label in new):
            raise DataError(f"classes are non-negative integers, got {new[:5]}")
        before = [layer.blocks for layer in self.layers]
        if new and self.config.codes == "onehot":
            count = len(self.classes) + len(new)
            growth.grow_onehot(self.config, self.layers, len(self.classes), count)
            self.codes = np.eye(count, dtype=self.dtype)
        elif new:
            for label in new:
                code = growth.symba_code(self.config, label, self.codes)
                self.codes = np.concatenate([self.codes, code[None]])
        self.classes = [*self.classes, *new]
        self.current = [self.classes.index(label) for label in classes]
        if new and self.config.gate == "disjoint":
            growth.widen(self.config, self.layers, len(self.classes))
        growth.set_gates(self.config, self.layers, self.classes)
        for layer, old in zip(self.layers, before, strict=True):
            for name, block in layer.blocks.items():
                if block is not old[name]:
                    self.optimizer.forget(f"layers.{layer.number}.{name}")

    def passes(self, x: Array, candidates: Array) -> Iterator[tuple[Layer, Array | None, Answer]]:
        """Yield each layer, what it hears from the one below, and what it answers."""
        given: Answer | None = None
        for layer in self.layers:
            below, given = None if given is None else given.latent, None  # as an answer is large
            drive = formulas.drives(layer, x, self.codes, candidates, below)
            given = formulas.answer(self.config, layer, drive, candidates)
            del drive
            yield layer, below, given

    def gradients(
        self, x: Array, columns: Array, candidates: Array
    ) -> Iterator[tuple[Layer, float, dict[str, Array | Product]]]:
        """Yield each trained layer with its loss and the gradients of its blocks of weights.

        Gradients are as `formulas.weight_gradients` returns them. ``columns`` (batch,) are the
        true labels among ``candidates`` (batch, candidates), both as columns of ``scores``. Layers
        coupled by a product share one loss, told with the first.
        """
        target, valid = candidates == columns[:, None], candidates >= 0
        trained = self.training["layer"]
        waiting: list[tuple[Layer, Array | None, Answer]] = []
        for each in self.passes(x, candidates):
            if trained not in (None, each[0].number):
                continue
            waiting.append(each)
            if self.config.coupling == "product" and len(waiting) < len(self.layers):
                continue
            numbers = [layer.number for layer, _, _ in waiting]
            answers = [given for _, _, given in waiting]
            loss, slopes = formulas.loss(self.config, answers, numbers, target, valid)
            for place, (layer, below, given) in enumerate(waiting):
                by_drive = formulas.drive_gradient(
                    self.config, given, slopes.energies[place], slopes.activity[place]
                )
                seen = x, self.codes, candidates, below
                yield layer, loss, formulas.weight_gradients(layer, *seen, by_drive)
                loss = 0.0
            waiting = []
            del each, answers, given, slopes, by_drive, below, seen  # before the next layer's
            if trained is not None:
                return

    def prepare(self, x: Array) -> Array:
        """Standardise rows; bytes are pixels, and a classifier cuts what lies far out."""
        values = x.astype(np.float64)
        if x.dtype == np.uint8:
            values /= 255
        if self.reach is not None:
            far = self.reach * self.std
            values = np.clip(values, self.mean - far, self.mean + far)
        return ((values - self.mean) / self.std).astype(self.dtype)

    def _rows(self, x: Any) -> Array:
        rows = np.asarray(x)
        if rows.dtype.kind not in "buif":
            raise DataError(f"expected an array of numbers, got {rows.dtype}")
        if rows.ndim < 2 or rows[:1].size != self.config.inputs * min(len(rows), 1):
            raise DataError(
                f"expected examples of {self.config.inputs} features, got the shape {rows.shape}"
            )
        return rows.reshape(len(rows), self.config.inputs)

    def _numbers(self, y: Any) -> Array:
        """Return labels as the numbers of their classes; a classifier's new names get new ones."""
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise DataError(f"expected one label an example, got the shape {labels.shape}")
        if self.labels is not None:
            for label in np.unique(labels).tolist():
                if label not in self.labels:
                    self.labels.append(label)
            return np.array([self.labels.index(label) for label in labels.tolist()], np.int64)
        if labels.dtype.kind not in "ui":
            raise DataError(f"labels are whole numbers, got {labels.dtype}")
        return labels.astype(np.int64)

    def _negatives(self, x: Array, columns: Array) -> Array:
        """Return the labels each example is shown with (batch, candidates); -1 is none."""
        seen = np.tile(np.arange(len(self.classes)), (len(columns), 1))
        if self.config.contrast_with == "current":
            current = np.isin(seen[0], self.current)
            seen = np.where(current | ~current[columns][:, None], seen, -1)
        if self.negatives == "all":
            return seen
        weights = np.ones(seen.shape)
        if self.negatives == "hard":
            goodness = [
                formulas.score(self.config, layer.number, given.energies)
                for layer, _, given in self.passes(x, np.maximum(seen, 0))
            ]
            weights = np.mean(goodness, axis=0).astype(np.float64).clip(min=1e-9)
        weights[(seen < 0) | (seen == columns[:, None])] = 0
        draws = self.rng.random(len(columns), dtype=np.float32)
        level = (draws * weights.sum(axis=1))[:, None]
        place = (np.cumsum(weights, axis=1) <= level).sum(axis=1).clip(max=seen.shape[1] - 1)
        wrong = np.where(weights.any(axis=1), seen[np.arange(len(columns)), place], -1)
        return np.stack([columns, wrong], axis=1)

    def save(self, path: PathLike) -> None:
        """Write a model file, with the state of training, for here or for `sffa.Trainer.load`."""
        arrays: dict[str, Array] = {"codes": self.codes, "mean": self.mean, "std": self.std}
        for layer in self.layers:
            for name, block in layer.blocks.items():
                arrays[f"layers.{layer.number}.{name}"] = block
        header = {
            "kind": "network",
            "config": {**dataclasses.asdict(self.config), "hidden": list(self.config.hidden)},
            "classes": self.classes,
            "tasks": self.tasks,
            "current": self.current,
            "notes": self._notes(),
            "trainer": {
                **self.training,
                "lr": self.optimizer.lr,
                "negatives": self.negatives,
                "rng": self.rng.bit_generator.state,
            },
        }
        model_file.write(path, header, arrays | self.optimizer.arrays())

    def _notes(self) -> dict[str, Any]:
        if self.labels is None:
            return self.notes
        names = [str(label) for label in self.labels]
        return {
            **self.notes,
            "class_names": names,
            "classifier": {"labels": self.labels, "reach": self.reach},
        }


def load(path: PathLike, *, lr: float | None = None, dtype: Any = np.float32) -> Network:
    """Read a model file of this package or of the whole library.

    A file that was saved with its trainer goes on learning as it would have; ``lr`` replaces its
    step size (without a trainer in the file: 1e-3).

    >>> import tempfile
    >>> net = Network(4, hidden=(40,), k=5).partial_fit(np.eye(4), [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     net.save(f"{folder}/m.safetensors")
    ...     same = load(f"{folder}/m.safetensors")
    >>> bool((same.scores(np.eye(4)) == net.scores(np.eye(4))).all())
    True
    """
    header, arrays = model_file.read(path, lambda name: not name.startswith("extra."))
    try:
        return _restored(header, arrays, lr, dtype)
    except (SFFAError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        told = " ".join(f"{error}".split())[:200]
        raise ModelFileError(f"{path} does not hold a usable model: {told}") from None


def _restored(
    header: dict[str, Any], arrays: dict[str, Array], lr: float | None, dtype: Any
) -> Network:
    """Make the network that a file describes; its arrays are checked before they are used."""
    if header["kind"] != "network":
        raise ModelFileError(f"it holds a '{str(header['kind'])[:40]}', not SFFA or FFA")
    training = header.get("trainer") or {}
    for part, usual in (("optimizer", "adam"), ("lr_schedule", "constant")):
        if ":" in str(name := training.get(part, usual)):
            raise ModelFileError(f"it learns with the {part} '{str(name)[:80]}', which is not here")
    config = configuration.make((), **header["config"])
    network = Network(
        **{**dataclasses.asdict(config), "hidden": config.hidden},
        lr=lr if lr is not None else training.get("lr", 1e-3),
        negatives=training.get("negatives", "all"),
        dtype=dtype,
        layers=_layers(config, arrays),
    )
    network.standardise(arrays["mean"], arrays["std"])
    network.notes = header.get("notes") or {}
    _restore_classes(network, header, arrays["codes"])
    _restore_training(network, training, arrays)
    return network


def _layers(config: Config, arrays: dict[str, Array]) -> list[Layer]:
    """Return the layers of a file, whose shapes must go with its configuration."""
    layers: list[Layer] = []
    code = arrays["codes"].shape[-1]
    for number, least in enumerate(config.hidden):
        blocks = {
            name: arrays.get(f"layers.{number}.{name}")
            for name in ("image", "code", "latent", "bias")
        }
        width = len(arrays[f"layers.{number}.bias"])
        shapes = {"image": (config.inputs, width), "code": (code, width), "bias": (width,)}
        if layers:
            shapes["latent"] = len(layers[-1].bias), width
        found = {name: block.shape for name, block in blocks.items() if block is not None}
        if found != shapes or width < least or width % config.polarities:
            raise ModelFileError(f"layer {number} has blocks of the shapes {found}")
        held = [block for block in blocks.values() if block is not None]
        if not all(block.dtype == np.float32 and np.isfinite(block).all() for block in held):
            raise ModelFileError(f"layer {number} has weights that are not finite float32")
        layers.append(Layer(number, **blocks))  # type: ignore[arg-type]
    return layers


def _restore_classes(network: Network, header: dict[str, Any], codes: Array) -> None:
    """Set classes, codes and gates from a file."""
    classes, current, tasks = header["classes"], header["current"], header["tasks"]
    if not all(isinstance(label, int) and 0 <= label < 2**63 for label in classes):
        raise ModelFileError("its classes are not non-negative integers")
    columns = [*current, *(column for each in tasks.values() for column in each)]
    if len(set(classes)) < len(classes) or not {*columns} <= {*range(len(classes))}:
        raise ModelFileError("a class is listed twice, or a column lies beyond the classes")
    config = network.config
    size = len(classes) if config.codes == "onehot" else config.code_size
    if codes.shape != (len(classes), size) or codes.dtype.kind != "f":
        raise ModelFileError(f"{len(classes)} classes, but codes of shape {codes.shape}")
    network.codes = codes.astype(network.dtype, copy=False)
    network.classes, network.current, network.tasks = list(classes), list(current), tasks
    if config.gate == "disjoint":
        groups = [len(layer.bias) // config.polarities for layer in network.layers]
        if any(len(classes) * s > g for s, g in zip(config.shares, groups, strict=True)):
            raise ModelFileError("its layers are too narrow for disjoint shares of its classes")
    growth.set_gates(config, network.layers, network.classes)
    kept = network.notes.get("classifier")
    if kept is not None:
        labels, reach = kept["labels"], kept["reach"]
        if len(labels) != len(classes) or classes != list(range(len(classes))):
            raise ModelFileError(f"{len(classes)} classes, but {len(labels)} labels")
        network.labels, network.reach = list(labels), None if reach is None else float(reach)


def _restore_training(network: Network, training: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Set the draws and Adam's moments from a file, if it has a trainer's."""
    if not training:
        return
    training = {"input_dropout": 0.0, **training}
    network.training = {name: training[name] for name in network.training if name in training}
    trained = network.training["layer"]
    if trained is not None and not 0 <= trained < len(network.layers):
        raise ModelFileError(f"layer {trained} of {len(network.layers)} is to be trained")
    if not 0 <= (share := network.training["input_dropout"]) < 1:
        raise ModelFileError(f"input_dropout must lie in [0, 1), got {share}")
    network.rng.bit_generator.state = training["rng"]
    for layer in network.layers:
        for name, block in layer.blocks.items():
            network.optimizer.restore(f"layers.{layer.number}.{name}", block, arrays)
