"""One static run: train on a dataset, watch a test and a held-out split, report what came of it.

The paper reports the best test accuracy over the epochs, which looks at the test split to choose.
A record therefore carries three numbers: ``best`` as the paper counts, ``last``, and
``val_selected``, the test accuracy of the epoch that was best on held-out training examples, which
is the honest one and the record's ``acc``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator

from sffa.analysis.sparsity import sparsity_of
from sffa.core import (
    PRESETS,
    Callback,
    Epoch,
    Learner,
    Network,
    Trainer,
    make,
    multiply_adds,
)
from sffa.core.config import PartName, Seed, Strict, Widths, named_parts
from sffa.core.lr_schedule import schedule_of
from sffa.core.negatives import scheme_of
from sffa.core.optimizer import ADAM, source_of
from sffa.core.presets import check, completed, is_network
from sffa.core.seeds import generator
from sffa.core.trainer import LARGEST_BATCH
from sffa.data import Dataset, load
from sffa.environment import describe
from sffa.extension import is_reference
from sffa.memory import peak_mb, restart_peak
from sffa.record import Record

NEGATIVES = ("uniform", "hard", "all", "none")


class StaticConfig(Strict):
    """A static run. Defaults are the paper's (its appendix on hyper-parameters, RQ1).

    >>> config = StaticConfig(dataset="digits", algorithm="sffa", hidden=(200, 200), epochs=10)
    >>> config.negatives, config.holdout
    ('uniform', 5000)
    """

    dataset: str = Field(default="mnist", description="a name of data, or a path")
    scenario: Literal["static"] = Field(default="static", description="all classes at once")
    algorithm: str = Field(
        default="sffa", description="a name of core.PRESETS, or your own as module:Class"
    )
    seed: Seed = Field(default=0, description="of weights, order, negatives and held-out set")
    epochs: int = Field(default=100, ge=1, lt=2**31, description="for each layer, if greedy")
    batch_size: int = Field(default=512, ge=1, le=LARGEST_BATCH, description="examples in a step")
    lr: float = Field(default=1e-4, gt=0, description="step size of the optimiser")
    negatives: PartName = Field(
        default="uniform",
        description="uniform, hard, all or your own; none for back-propagation, and only for it",
    )
    schedule: Literal["online", "greedy"] = Field(
        default="online", description="all layers in every step, or one after the other"
    )
    lr_schedule: PartName = Field(
        default="constant", description="constant, cosine to 0, or your own"
    )
    hidden: Widths = (1400, 1400)
    network: dict[str, Any] = Field(default_factory=dict, description="fields of NetworkConfig")
    input_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="share of the input values hidden in each step"
    )
    holdout: int = Field(default=5000, ge=0, description="training examples kept to choose by")
    backend: Literal["auto", "torch", "numba"] = Field(
        default="auto", description="backend of the forward-forward networks"
    )
    optimizer: PartName = Field(
        default=ADAM, description="adam, or a class such as torch.optim:SGD(momentum=0.9)"
    )

    renamed: ClassVar[dict[str, str]] = {"kernels": "backend"}
    later: ClassVar[tuple[str, ...]] = ("lr_schedule", "optimizer", "input_dropout")

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("network", {}), dict):
            return values
        algorithm = str(values.get("algorithm", "sffa"))
        if algorithm in PRESETS or is_reference(algorithm):
            if not is_network(algorithm) and not is_reference(algorithm):
                values = {"negatives": "none", **values}
            network = completed(algorithm, values.get("network", {}))
            values = {**values, "network": named_parts(network)}
        return values

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check(self.algorithm, self.hidden, self.seed, self.network)
        schedule_of(self.lr_schedule)
        source_of(self.optimizer)
        if self.negatives != "none":
            scheme_of(self.negatives)
        if not is_reference(self.algorithm) and is_network(self.algorithm) == (
            self.negatives == "none"
        ):
            raise ValueError(
                f"negatives='{self.negatives}' does not go with algorithm='{self.algorithm}': "
                "forward-forward networks need some, others have none"
            )
        if self.negatives == "none" and self.schedule != "online":
            raise ValueError(f"{self.algorithm} has no greedy schedule: use schedule='online'")
        return self


def run_static(
    config: StaticConfig,
    data: Dataset | None = None,
    *,
    callbacks: Sequence[Callback] = (),
    environment: dict[str, Any] | None = None,
) -> Record:
    """Train and evaluate as ``config`` says; ``data`` spares the loading.

    >>> config = StaticConfig(
    ...     dataset="digits", algorithm="bp", negatives="none", hidden=(20,), epochs=2, holdout=200
    ... )
    >>> record = run_static(config)
    >>> sorted(record.metrics)
    ['acc', 'best', 'last', 'val_selected']
    """
    return train_static(config, data, callbacks=callbacks, environment=environment)[0]


def train_static(
    config: StaticConfig,
    data: Dataset | None = None,
    *,
    trainer: Trainer | None = None,
    history: Sequence[Epoch] = (),
    callbacks: Sequence[Callback] = (),
    environment: dict[str, Any] | None = None,
) -> tuple[Record, Learner]:
    """Do as `run_static` does, and return the trained learner too.

    A ``trainer`` that was stopped goes on; ``history`` holds the epochs it has done.
    """
    environment = environment or describe()  # before the run: files may change meanwhile
    started = time.perf_counter()
    restart_peak()
    data, watch = watched(config, data or load(config.dataset))
    trainer = trainer or make_trainer(config, data)
    epochs = trainer.fit(
        data.train.flat,
        data.train.y,
        config.epochs,
        config.batch_size,
        done=trainer.epochs_done - config.epochs * (trainer.layer or 0),
        watch=watch,
        callbacks=callbacks,
    )
    seconds = time.perf_counter() - started
    learner = trainer.learner
    record = static_record(config, [*history, *epochs], seconds, environment, learner)
    record.details.update(_sparsity(learner, data, config.seed))
    return record, learner


def _sparsity(learner: Learner, data: Dataset, seed: int) -> dict[str, Any]:
    """Return the Hoyer scores of the paper's table, on test inputs with right and wrong labels."""
    if not isinstance(learner, Network) or data.classes < 2:  # others have no latents per label
        return {}
    rng = generator(seed, "negative inputs")  # as sffa analyze sparsity draws them
    return {"hoyer": sparsity_of(learner, data.test.flat, data.test.y, rng).mean_hoyer()}


def watched(config: StaticConfig, data: Dataset) -> tuple[Dataset, dict[str, tuple[Any, Any]]]:
    """Return what to train on and whose accuracy to take: the test and the held-out examples."""
    watch = {"test": (data.test.flat, data.test.y)}
    if config.holdout:
        data, held = data.hold_out(config.holdout, config.seed)
        watch["validation"] = (held.flat, held.y)
    return data, watch


def static_record(
    config: StaticConfig,
    epochs: Sequence[Epoch],
    seconds: float,
    environment: dict[str, Any],
    learner: Learner,
) -> Record:
    """Return the record of a training, from all its epochs, watched as `train_static` does."""
    cost = multiply_adds(learner)
    counted = {} if cost is None else {"multiply_adds": cost._asdict()}
    return Record(
        dataset=config.dataset,
        scenario="static",
        method=config.negatives,
        algorithm=config.algorithm,
        seed=config.seed,
        config=config.model_dump(mode="json"),
        metrics=static_metrics(epochs),
        details={"curve": [_point(epoch) for epoch in epochs], **counted},
        environment=environment,
        seconds=seconds,
        peak_memory_mb=peak_mb(),
        version=str(environment.get("version", "")),
    )


def make_trainer(
    config: StaticConfig,
    data: Dataset,
    device: str | torch.device = "cpu",
    offload: Path | None = None,
) -> Trainer:
    """Make the learner of a configuration, and its trainer.

    With ``offload``, a folder, layers are made one after the other and wait there. One-hot codes
    draw weights for all layers when classes are met, so those are made at once.
    """
    network = is_network(config.algorithm)
    single = offload is not None and network and config.network.get("codes") != "onehot"
    hidden = config.hidden[:1] if single else config.hidden
    backend: dict[str, Any] = {"backend": config.backend} if network else {}
    learner = make(
        config.algorithm,
        data.features,
        hidden,
        classes=range(data.classes),
        seed=config.seed,
        **backend,
        **config.network,
    )
    learner.standardise(data.mean, data.std)
    negatives = config.negatives if network and config.negatives != "none" else "all"
    trainer = Trainer(
        learner.to(device),
        config.lr,
        negatives,
        config.schedule,
        config.seed,
        lr_schedule=config.lr_schedule,
        optimizer=config.optimizer,
        offload=offload,
        input_dropout=config.input_dropout,
    )
    for width in config.hidden[len(hidden) :]:
        trainer.deepen(width)
        trainer.layer = 0
    return trainer


def static_metrics(epochs: Sequence[Epoch]) -> dict[str, float]:
    """Return the test accuracies of a training as a record has them.

    ``val_selected`` is there if examples were held out; else the last epoch counts.
    """
    test = [epoch.accuracy["test"] for epoch in epochs]
    found = {"acc": test[-1], "best": max(test), "last": test[-1]}
    if "validation" in epochs[0].accuracy:
        held = [epoch.accuracy["validation"] for epoch in epochs]
        selected = test[held.index(max(held))]
        found |= {"acc": selected, "val_selected": selected}
    return found


def _point(epoch: Epoch) -> dict[str, Any]:
    return {
        "epoch": epoch.number,
        "loss": epoch.loss,
        "layer": epoch.layer,
        "test": epoch.accuracy["test"],
        "validation": epoch.accuracy.get("validation"),
        "layers": epoch.layer_accuracy,
        "seconds": epoch.seconds,
    }
