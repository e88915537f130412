"""``sffa train``: from a dataset to a model file, with a record and a learning curve beside it."""

from __future__ import annotations

import dataclasses
import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from sffa.cli.bars import EpochBar
from sffa.cli.models import about, probe_writable, trained_on
from sffa.cli.notes import Notes, notes_of
from sffa.cli.options import (
    AsJson,
    Backend,
    Board,
    DataDir,
    Device,
    Hidden,
    OldBackend,
    Records,
    Seed,
    Settings,
    Size,
    SkipUnreadable,
    StepSize,
    Target,
    Threads,
    Track,
    backend_of,
    dataset_of,
    open_board,
    open_trackers,
    prepare_kernels,
    settings,
    use_device,
    use_threads,
    widths,
)
from sffa.cli.signals import terminable
from sffa.core import Callback, Epoch, NetworkConfig, Progress, Trainer
from sffa.core.presets import COMPARED, is_network
from sffa.data import Dataset, load
from sffa.environment import describe
from sffa.errors import ConfigurationError, ModelFileError
from sffa.extension import check_at_hand, is_reference, references
from sffa.files import replacing, write_text
from sffa.record import Record
from sffa.report.card import UNKNOWN, model_card
from sffa.report.learning import learning_curve
from sffa.study.configuration import Run, file_name
from sffa.study.static import StaticConfig, make_trainer, static_record, train_static

_DATASET = "Name of a dataset, or a path to your own."
_EPOCHS = "Passes over the data (a layer, if greedy)."
_OUT = "Model file to write; record and curve go beside it."
_RESUME = "Go on from this checkpoint, as it was begun; --epochs may be raised."
_OFFLOAD = "Folder where all layers but the trained one wait (greedy SFFA); --resume takes it."
_HOLDOUT = "Training examples kept to select an epoch by."
_CARD = "Write a model card beside the model, as the Hugging Face hub has them."
_LICENSE = "Licence of the model that its card names, such as apache-2.0."
_MODEL = "model.safetensors, or the file that is resumed"
_Dataset = Annotated[str | None, typer.Option("--dataset", help=_DATASET, show_default="digits")]
_Resume = Annotated[Path | None, typer.Option("--resume", help=_RESUME, show_default="no")]


def train(
    dataset: _Dataset = None,
    algorithm: Annotated[str, typer.Option("--algorithm", help=f"{', '.join(COMPARED)}.")] = "sffa",
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=1, help=_EPOCHS, show_default="10")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help=_OUT, show_default=_MODEL)] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Examples a step.", show_default="512")
    ] = None,
    lr: StepSize = 1e-3,
    negatives: Annotated[
        str, typer.Option("--negatives", help="Wrong labels: all, uniform, hard; or module:Class.")
    ] = "all",
    schedule: Annotated[
        str, typer.Option("--schedule", help="online, or greedy: one layer after the other.")
    ] = "online",
    hidden: Hidden = "1400,1400",
    seed: Seed = 0,
    offload: Annotated[Path | None, typer.Option("--offload", help=_OFFLOAD)] = None,
    holdout: Annotated[int, typer.Option("--holdout", min=0, help=_HOLDOUT)] = 0,
    resume: _Resume = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep the optimiser in the final file.")
    ] = False,
    card: Annotated[bool, typer.Option("--card", help=_CARD)] = False,
    license: Annotated[str, typer.Option("--license", help=_LICENSE)] = UNKNOWN,
    records: Records = Path("runs"),
    tensorboard: Board = None,
    track: Track = None,
    given: Settings = None,
    threads: Threads = None,
    device: Device = "cpu",
    backend: Backend = "auto",
    kernels: OldBackend = None,
    data_dir: DataDir = None,
    target: Target = None,
    size: Size = None,
    skip_unreadable: SkipUnreadable = False,
    as_json: AsJson = False,
) -> None:
    """Train a network and write it to a file.

    A checkpoint is written after every epoch: an interrupted run goes on with --resume.
    """
    use_threads(threads)
    asked = {"algorithm": algorithm, "lr": lr, "negatives": negatives, "schedule": schedule}
    asked |= {"hidden": widths(hidden), "seed": seed, "holdout": holdout}
    asked |= {"backend": backend_of(backend, kernels), **_placed(settings(given))}
    dataset = dataset_of(dataset, target, size, skip_unreadable)
    sizes = {"dataset": dataset, "epochs": epochs, "batch_size": batch_size}
    if resume is None:
        training = Training.begun(asked, sizes, data_dir, device, offload)
    else:
        training = Training.resumed(resume, sizes, data_dir, device)
    training.trackers, training.license = tuple(track or ()), license if card else None
    file = Path("model.safetensors") if resume is None or resume.is_dir() else resume
    training.go(out or file, records, tensorboard, keep_state)
    if as_json:
        print(json.dumps(training.record.to_json()))


def _placed(given: dict[str, Any]) -> dict[str, Any]:
    """Sort ``--set`` pairs into fields of the run and options of its network.

    >>> _placed({"k": 5, "lr_schedule": "cosine", "network.gate": 0.3})
    {'lr_schedule': 'cosine', 'network': {'k': 5, 'gate': 0.3}}
    """
    if "network" in given:
        raise ConfigurationError("--set takes options of the network one by one: network.k=5")
    run = {*StaticConfig.model_fields} - {*NetworkConfig.model_fields}
    network = {n.removeprefix("network."): v for n, v in given.items() if n not in run}
    return {**{n: v for n, v in given.items() if n in run}, "network": network}


class Training(Callback):
    """One training as the command line does it: progress, checkpoints, record, curve."""

    def __init__(
        self,
        config: StaticConfig,
        data: Dataset,
        trainer: Trainer,
        history: list[Epoch],
    ) -> None:
        self.config = config
        self.data = data
        self.trainer = trainer
        self.history = history
        self.environment = describe()
        self.started = time.perf_counter()
        self.out = Path("model.safetensors")
        self.trackers: tuple[str, ...] = ()
        self.license: str | None = None  # of the card; None if there shall be none
        self.record: Record

    @classmethod
    def begun(
        cls,
        asked: dict[str, Any],
        sizes: dict[str, Any],
        data_dir: Path | None,
        device: str,
        offload: Path | None,
    ) -> Training:
        """Make a training from its options."""
        if is_reference(asked["algorithm"]):
            raise ConfigurationError(
                f"sffa train keeps networks of sffa itself, not of '{asked['algorithm']}'; use "
                "Trainer in Python"
            )
        if not is_network(asked["algorithm"]):
            if asked["negatives"] != "all":
                raise ConfigurationError(f"{asked['algorithm']} has no negatives: leave them out")
            asked = {**asked, "negatives": "none"}
        chosen = {name: value for name, value in sizes.items() if value is not None}
        config = StaticConfig(**{"dataset": "digits", "epochs": 10, **asked, **chosen})
        data = load(config.dataset, data_dir=data_dir)
        return cls(config, data, make_trainer(config, data, use_device(device), offload), [])

    @classmethod
    def resumed(
        cls, path: Path, sizes: dict[str, Any], data_dir: Path | None, device: str
    ) -> Training:
        """Go on with a training from its checkpoint, as it was begun."""
        notes = notes_of(path)
        config = _begun(path, notes)
        if sizes["batch_size"] not in (None, config.batch_size):
            raise ConfigurationError(
                f"{path} was begun with batches of {config.batch_size}; leave --batch-size out"
            )
        epochs = sizes["epochs"] or config.epochs
        config = config.model_copy(update={"epochs": epochs})
        data = load(sizes["dataset"] or config.dataset, data_dir=data_dir)
        if notes.dataset != data.name:
            raise ConfigurationError(
                f"{path} was trained on {notes.dataset}, not on {data.name}: leave --dataset out"
            )
        trainer = Trainer.load(path, use_device(device))
        trainer.learner.use_backend(config.backend)
        return cls(config, data, trainer, notes.history)

    def go(self, out: Path, records: Path, tensorboard: Path | None, keep_state: bool) -> None:
        """Train to the end, and write model, record and curve.

        A training that was stopped after its last epoch has no record yet: it gets one.
        """
        kept = records / f"{file_name(Run(self.config))}.json"
        done = self.trainer.epochs_done
        if done >= self.config.epochs and self.trainer.schedule == "online" and kept.exists():
            raise ConfigurationError(
                f"nothing to do: {done} epochs are done already; raise --epochs"
            )
        self.out = out
        probe_writable(out)
        for path in (kept, self._path("metrics.json"), self._path("curve.png")):
            probe_writable(path)
        if self.trainer.offload is not None:
            self._checkpoint()
        if self.license is not None:
            self._probe_card()
        console = Console(stderr=True)
        if is_network(self.config.algorithm) and self.config.backend != "torch":
            prepare_kernels(console)
        board = open_board(tensorboard, self.data)
        boards = [] if board is None else [board]
        name = file_name(Run(self.config))
        values, stack = self.config.model_dump(mode="json"), ExitStack()
        with terminable(), EpochBar(console, self.config.algorithm) as bar, stack:
            self.record, learner = train_static(
                self.config,
                self.data,
                trainer=self.trainer,
                history=list(self.history),
                callbacks=[bar, self, *boards, *open_trackers(self.trackers, name, stack, values)],
                environment=self.environment,
            )
        self._show()  # the whole record: the sparsity is known only now
        write_text(kept, json.dumps(self.record.to_json(), indent=1) + "\n")
        learner.save(out, self.trainer if keep_state else None, self.notes())
        beside = f"{self._path('metrics.json')}, {self._path('curve.png')} and {kept}"
        if self.license is not None:
            about = {"model": out.name, "license": self.license}
            write_text(self._path("md"), model_card(learner, self.data, self.record, **about))
            beside = f"{self._path('md')}, {beside}"
        console.print(f"wrote {out}, {beside}", highlight=False, markup=False, soft_wrap=True)

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        """Write a checkpoint, the record so far and the learning curve."""
        self.history.append(epoch)
        self._checkpoint()
        seconds = time.perf_counter() - self.started
        about = self.environment, progress.learner
        self.record = static_record(self.config, self.history, seconds, *about)
        self._show()

    def _show(self) -> None:
        """Write the record so far and the learning curve."""
        content = json.dumps(self.record.to_json(), indent=1)
        write_text(self._path("metrics.json"), f"{content}\n")
        with replacing(self._path("curve.png")) as temporary:
            learning_curve([dataclasses.asdict(each) for each in self.history], temporary)

    def _checkpoint(self) -> None:
        """Write what `resumed` needs: to the model file, or where the layers are."""
        folder = None if self.trainer.offload is None else self.trainer.offload.folder
        self.trainer.save(folder or self.out, self.notes(folder))

    def notes(self, model: Path | None = None) -> dict[str, Any]:
        """Return what the model file says of its data and training."""
        place = model or self.out
        return {
            **about(self.config.dataset, self.config.algorithm, self.data, place),
            "run": self.config.model_dump(mode="json"),
            "history": [dataclasses.asdict(epoch) for epoch in self.history],
        }

    def _probe_card(self) -> None:
        card = self._path("md")
        if card == self.out:
            raise ConfigurationError(f"the card is {card}; give the model another name")
        probe_writable(card)

    def _path(self, ending: str) -> Path:
        return self.out.with_suffix(f".{ending}")


def _begun(path: Path, notes: Notes) -> StaticConfig:
    """Return the configuration that a training was begun with."""
    try:
        return _configured(path, notes, trained_on(path, notes) or "digits")
    except (ConfigurationError, TypeError) as error:
        raise ModelFileError(f"the notes of {path} cannot be used: {error}") from None


def _configured(path: Path, notes: Notes, dataset: str) -> StaticConfig:
    algorithm = (notes.run or {}).get("algorithm", notes.algorithm or "sffa")
    if not isinstance(algorithm, str) or is_reference(algorithm):
        raise ConfigurationError("it was trained with a class that no model file holds")
    for name in references(notes.run or {}):
        check_at_hand("class", name)  # a file that is read runs no code
    if notes.run is not None:
        return StaticConfig(**{**notes.run, "dataset": dataset})
    # A checkpoint of the first format: what it does not say is in its trainer and learner.
    trainer = Trainer.load(path)
    network = trainer.learner.config.model_dump(mode="json", exclude_defaults=True)
    apart = ("inputs", "algorithm", "hidden", "seed")
    return StaticConfig(
        dataset=dataset,
        algorithm=algorithm,
        negatives=trainer.negatives if is_network(algorithm) else "none",
        schedule=trainer.schedule,
        lr=trainer.lr,
        seed=trainer.seed,
        hidden=network.get("hidden", (1400, 1400)),
        network={name: value for name, value in network.items() if name not in apart},
        holdout=0,
        **{"epochs": 10, "batch_size": 512, **notes.begun},
    )
