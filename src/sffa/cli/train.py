"""``sffa train``: from a dataset to a model file, with metrics and a learning curve beside it."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sffa.cli.options import (
    AsJson,
    Board,
    DataDir,
    Device,
    Seed,
    Settings,
    Threads,
    open_board,
    prepare_kernels,
    settings,
    use_device,
    use_threads,
    widths,
)
from sffa.core import Epoch, Learner, Trainer, make
from sffa.core.storage import read
from sffa.data import Dataset, load, names
from sffa.errors import ConfigurationError
from sffa.extension import is_reference
from sffa.files import replacing, write_text


def train(
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset", help="Name of a dataset, or a path to your own.", show_default="digits"
        ),
    ] = None,
    algorithm: Annotated[
        str, typer.Option("--algorithm", help="sffa, sffa-gated, ffa or bp.")
    ] = "sffa",
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs", min=1, help="Passes over the data (a layer, if greedy).", show_default="10"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Model file to write; metrics and curve go beside it.",
            show_default="model.safetensors, or the file that is resumed",
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", min=1, help="Examples a step.", show_default="512"),
    ] = None,
    lr: Annotated[float, typer.Option("--lr", help="Step size of Adam.")] = 1e-3,
    negatives: Annotated[
        str, typer.Option("--negatives", help="Wrong labels shown: all, uniform or hard.")
    ] = "all",
    schedule: Annotated[
        str, typer.Option("--schedule", help="online, or greedy: one layer after the other.")
    ] = "online",
    hidden: Annotated[str, typer.Option("--hidden", help="Widths of the layers.")] = "1400,1400",
    seed: Seed = 0,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            help="Go on from this checkpoint, as it was begun; --epochs may be raised.",
            show_default="no",
        ),
    ] = None,
    keep_state: Annotated[
        bool, typer.Option("--keep-state", help="Keep the optimiser in the final file.")
    ] = False,
    tensorboard: Board = None,
    given: Settings = None,
    threads: Threads = None,
    device: Device = "cpu",
    backend: Annotated[str, typer.Option("--backend", help="auto, torch or numba.")] = "auto",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train a network and write it to a file.

    A checkpoint is written after every epoch: an interrupted run goes on with --resume.
    """
    console = Console(stderr=True)
    use_threads(threads)
    where = use_device(device)
    notes: dict[str, Any] = {} if resume is None else read(resume)[0].notes
    out = out or resume or Path("model.safetensors")
    probe_writable(out)
    begun = notes.get("begun", {})
    if batch_size is not None and batch_size != begun.get("batch_size", batch_size):
        raise ConfigurationError(
            f"{resume} was begun with batches of {begun['batch_size']}; leave --batch-size out"
        )
    asked = {"epochs": 10, "batch_size": 512, **begun}
    asked |= {"epochs": epochs} if epochs else {}
    asked |= {"batch_size": batch_size} if batch_size else {}
    dataset = dataset or (resume and trained_on(resume, notes)) or "digits"
    data = load(dataset, data_dir=data_dir)
    if is_reference(algorithm):
        raise ConfigurationError(
            f"sffa train keeps networks of sffa's own, not of '{algorithm}'; use Trainer in Python"
        )
    if resume is None:
        options = settings(given)
        if algorithm != "bp":
            options = {"backend": backend, **options}
        classes = range(data.classes)
        learner = make(algorithm, data.features, widths(hidden), classes, seed, **options)
        learner.standardise(data.mean, data.std)
        trainer = Trainer(learner.to(where), lr, negatives, schedule, seed)  # type: ignore[arg-type]
        history: list[dict[str, Any]] = []
    else:
        trainer, history, algorithm = _resumed(resume, notes, data, str(where))
    if algorithm != "bp" and where.type == "cpu" and backend != "torch":
        prepare_kernels(console)
    kept = {"algorithm": algorithm, "source": source_of(dataset, out), "begun": asked}
    run = _Run(console, trainer, data, out, kept, history, tensorboard)
    run.fit(asked["epochs"], asked["batch_size"])
    trainer.learner.save(out, trainer if keep_state else None, run.notes())
    if as_json:
        print(json.dumps(run.summary()))
    else:
        console.print(f"wrote {out}, {run.metrics_path} and {run.curve_path}", highlight=False)


class _Run:
    """One training as the command line shows it: progress, checkpoints, metrics, curve."""

    def __init__(
        self,
        console: Console,
        trainer: Trainer,
        data: Dataset,
        out: Path,
        kept: dict[str, Any],
        history: list[dict[str, Any]],
        tensorboard: Path | None,
    ) -> None:
        self.console = console
        self.trainer = trainer
        self.data = data
        self.out = out
        self.kept = kept
        self.history = history
        self.board = open_board(tensorboard, data)
        self.metrics_path = out.with_suffix(".metrics.json")
        self.curve_path = out.with_suffix(".curve.png")

    def fit(self, epochs: int, batch_size: int) -> None:
        had = self.trainer.epochs_done - epochs * (self.trainer.layer or 0)
        if had >= epochs and self.trainer.schedule == "online":
            raise ConfigurationError(
                f"nothing to do: {self.trainer.epochs_done} epochs are done already; raise --epochs"
            )
        columns = (
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console, transient=True) as progress:
            bar = progress.add_task("training", epoch=self.trainer.epochs_done + 1)

            def on_batch(done: int, total: int) -> None:
                number = self.trainer.epochs_done + 1
                progress.update(bar, completed=done, total=total, epoch=number)

            self.trainer.fit(
                self.data.train.flat,
                self.data.train.y,
                epochs,
                batch_size,
                done=had,
                watch={"test": (self.data.test.flat, self.data.test.y)},
                on_epoch=self.on_epoch,
                on_batch=on_batch,
            )

    def on_epoch(self, epoch: Epoch) -> None:
        """Show an epoch and put everything in safety."""
        layers = " ".join(f"{value:.2f}" for value in epoch.layer_accuracy["test"])
        layer = f"  layer {epoch.layer + 1}" if epoch.layer is not None else ""
        self.console.print(
            f"epoch {epoch.number:3d}{layer}  loss {epoch.loss:.4f}  "
            f"test {epoch.accuracy['test']:.2f} %"
            + (f"  (by layer {layers})" if layers else "")
            + f"  {epoch.seconds:.1f} s",
            highlight=False,
        )
        if self.board is not None:
            self.board.scalars({"loss": epoch.loss}, epoch.number)
        self.history.append(dataclasses.asdict(epoch))
        self.trainer.save(self.out, self.notes())
        write_text(self.metrics_path, json.dumps(self.summary(), indent=1))
        from sffa.report.learning import learning_curve

        with replacing(self.curve_path) as temporary:
            learning_curve(self.history, temporary)

    def notes(self) -> dict[str, Any]:
        """Return what the model file says of its data and training."""
        return {
            **self.kept,
            "dataset": self.data.name,
            "class_names": list(self.data.class_names),
            "shape": list(self.data.shape),
            "history": self.history,
        }

    def summary(self) -> dict[str, Any]:
        """Return the metrics file's content."""
        tests = [epoch["accuracy"]["test"] for epoch in self.history]
        return {
            "model": str(self.out),
            "dataset": self.data.name,
            "algorithm": self.kept["algorithm"],
            "metrics": {"last": tests[-1], "best": max(tests)},
            "config": self.trainer.learner.config.model_dump(mode="json"),
            "training": {k: v for k, v in self.trainer.state().items() if k != "rng"},
            "epochs": self.history,
        }


def _resumed(
    path: Path, notes: dict[str, Any], data: Dataset, device: str
) -> tuple[Trainer, list[dict[str, Any]], str]:
    if notes.get("dataset") != data.name:
        raise ConfigurationError(
            f"{path} was trained on {notes.get('dataset')}, not on {data.name}: leave --dataset out"
        )
    return Trainer.load(path, device), notes["history"], notes["algorithm"]


def source_of(dataset: str, model: Path) -> str:
    """Return what a model file calls its data: a known name, or a path from the file's folder."""
    name = dataset.removeprefix("split-")
    if name in names():
        return name
    return f"./{os.path.relpath(dataset, model.parent)}"  # never mistaken for a name


def trained_on(model: Path, notes: dict[str, Any]) -> str | None:
    """Return the dataset that a model file names: a known name, or a path as seen from here."""
    source = notes.get("source") or notes.get("dataset")
    return str(model.parent / source) if source and source.startswith("./") else source


def probe_writable(path: Path) -> None:
    """Find out before hours of training that a file cannot be written there."""
    if path.is_dir():
        raise ConfigurationError(f"{path} is a folder; give the name of a file")
    with replacing(path.with_name(f"{path.name}.probe")):
        pass
    path.with_name(f"{path.name}.probe").unlink()


def check_fits(learner: Learner, data: Dataset) -> None:
    """Refuse a dataset whose examples or classes the model cannot take."""
    if data.features != learner.inputs:
        raise ConfigurationError(
            f"the model takes {learner.inputs} features, {data.name} has {data.features} "
            f"(shape {data.shape})"
        )
    unknown = set(range(data.classes)) - set(learner.classes)
    if unknown:
        raise ConfigurationError(
            f"{data.name} has {data.classes} classes, the model knows {len(learner.classes)}"
        )
