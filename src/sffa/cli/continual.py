"""``sffa continual``: learn a stream of experiences, and show what was forgotten."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sffa.cli.options import (
    AsJson,
    Board,
    DataDir,
    Seed,
    Settings,
    Threads,
    open_board,
    prepare_kernels,
    settings,
    use_threads,
    widths,
)
from sffa.cli.train import probe_writable, source_of
from sffa.continual import METHODS, PAPER, ContinualConfig, Result, options_of, run
from sffa.core import Learner, NetworkConfig
from sffa.core.presets import COMPARED, is_network
from sffa.data import Dataset, load
from sffa.environment import describe
from sffa.errors import ConfigurationError
from sffa.extension import is_reference
from sffa.files import replacing, write_text
from sffa.record import Record, config_hash
from sffa.report.cells import cells
from sffa.report.figures import streams
from sffa.study.upgrade import from_json


def continual(
    dataset: Annotated[
        str, typer.Option("--dataset", help="A dataset to split, such as split-mnist, or a path.")
    ] = "split-mnist",
    scenario: Annotated[str, typer.Option("--scenario", help="class, domain or task.")] = "class",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help=f"{', '.join(METHODS)}; joined by +; all of the paper; your own: module:Class.",
        ),
    ] = "naive",
    algorithm: Annotated[
        str,
        typer.Option("--algorithm", help=f"{', '.join(COMPARED)}, all; or module:Class."),
    ] = "sffa",
    seed: Seed = 0,
    experiences: Annotated[
        int, typer.Option("--experiences", min=1, help="Parts the classes are split into.")
    ] = 5,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over each part.")] = 2,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Examples a step.")] = 512,
    lr: Annotated[float, typer.Option("--lr", help="Step size of Adam.")] = 1e-3,
    hidden: Annotated[str, typer.Option("--hidden", help="Widths of the layers.")] = "1400,1400",
    out: Annotated[Path, typer.Option("--out", help="Folder for records and curves.")] = Path(
        "runs"
    ),
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Keep the trained network here.", show_default="not kept"),
    ] = None,
    tensorboard: Board = None,
    given: Settings = None,
    threads: Threads = None,
    backend: Annotated[str, typer.Option("--backend", help="auto, torch or numba.")] = "auto",
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Learn the parts of a dataset one after the other, and test on all of them after each.

    Ctrl-C stops after the batch at hand; the same command goes on from there. --set takes options
    of the run (class_order), of a method (ewc.strength) and of the network (gate).
    """
    console = Console(stderr=True)
    use_threads(threads)
    common = {
        "dataset": dataset,
        "scenario": scenario,
        "seed": seed,
        "experiences": experiences,
        "epochs": epochs,
        "batch_size": batch_size,
        "lr": lr,
        "hidden": widths(hidden),
        "backend": backend,
    }
    methods = list(PAPER) if method == "all" else [method]
    algorithms = list(COMPARED) if algorithm == "all" else [algorithm]
    asked = settings(given)
    configs = [
        _configured(common, m, a, asked, len(methods) > 1, len(algorithms) > 1)
        for m in methods
        for a in algorithms
    ]
    if save is not None:
        _check_save(save, configs)
    data = load(configs[0].dataset, data_dir=data_dir)
    if backend != "torch" and any(is_network(config.algorithm) for config in configs):
        prepare_kernels(console)
    records = [
        (len(configs) > 1 and _kept(config, out, console))
        or _run(config, data, out, console, tensorboard, save)
        for config in configs
    ]
    if as_json:
        printed = [record.to_json() for record in records]
        print(json.dumps(printed[0] if len(printed) == 1 else printed))
        return
    for record in records:
        Console().print(_matrix_table(record))
    if len(records) > 1:
        Console().print(_comparison(records))
        draw_curves(records, out / f"{dataset_name(dataset)}-{scenario}-{seed}.png")
    console.print(f"records and curves are in {out}", highlight=False)


def _configured(
    common: dict[str, Any],
    method: str,
    algorithm: str,
    asked: dict[str, Any],
    methods: bool,
    algorithms: bool,
) -> ContinualConfig:
    """Sort ``--set`` pairs into fields of the run, options of the method and of the network.

    When several methods or algorithms are compared, each takes the options that are its own.
    """
    run_fields: dict[str, Any] = {}
    options: dict[str, Any] = {}
    network: dict[str, Any] = {}
    for key, value in asked.items():
        first = key.partition(".")[0]
        if key in ContinualConfig.model_fields:
            run_fields[key] = value
        elif "." in key and first != "network":
            if not methods or first in method.split("+") or first not in METHODS:
                options[key] = value
        elif key not in NetworkConfig.model_fields and (owner := _owner(key, method)):
            options[f"{owner}.{key}"] = value
        elif not algorithms or is_network(algorithm):
            network[key.removeprefix("network.")] = value
    chosen = {"method": method, "algorithm": algorithm, "options": options, "network": network}
    return ContinualConfig(**{**common, **chosen, **run_fields})


def _check_save(save: Path, configs: list[ContinualConfig]) -> None:
    """Refuse before hours of training what could not be kept after them."""
    if len(configs) > 1:
        raise ConfigurationError(f"--save {save} keeps one network, not those of {len(configs)}")
    if is_reference(configs[0].algorithm):
        raise ConfigurationError(
            f"--save keeps networks of sffa's own, not of '{configs[0].algorithm}'"
        )
    probe_writable(save)


def _about(config: ContinualConfig, data: Dataset, save: Path) -> dict[str, Any]:
    """Return what a model file says of its data; in Domain IL a label is a place, not a class."""
    about = {
        "dataset": data.name,
        "source": source_of(config.dataset, save),
        "algorithm": config.algorithm,
        "shape": list(data.shape),
    }
    named = config.scenario != "domain"
    return {**about, "class_names": list(data.class_names)} if named else about


def _owner(option: str, method: str) -> str | None:
    """Return the part of a method that has an option of that name."""
    return next((part for part in method.split("+") if option in options_of(part)), None)


def _kept(config: ContinualConfig, out: Path, console: Console) -> Record | None:
    """Return the record of a run that an earlier command finished, one of several.

    So a comparison that was stopped goes on with the run it was stopped in.
    """
    path = out / f"{_name(config)}.json"
    try:
        record = from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
    if record.config != config.model_dump(mode="json"):
        return None
    console.print(f"{path} is there already; delete it to run that again", highlight=False)
    return record


def _run(
    config: ContinualConfig,
    data: Dataset,
    out: Path,
    console: Console,
    tensorboard: Path | None,
    save: Path | None,
) -> Record:
    """Run one configuration with a progress bar; write its record and curve; return the record."""
    environment = describe()  # before the run: files may change while it takes its time
    base = out / _name(config)
    board = open_board(tensorboard and tensorboard / _name(config), data)
    checkpoint = base.with_name(f"{base.name}.checkpoint.safetensors")
    resumable = not is_reference(config.algorithm)
    title = f"{config.algorithm} {config.method} {config.scenario} IL"
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress, _interruptible() as asked:
        bar = progress.add_task(title, total=None)

        def on_batch(done: int, total: int) -> bool:
            progress.update(bar, completed=done, total=total)
            return bool(asked)

        def on_experience(number: int, result: Result, learner: Learner) -> None:
            if board is not None:
                board.on_experience_end(learner, result)
            if number:
                seen = ", ".join(f"{value:.1f}" for value in result.rows[-1][:number])
                classes = result.experiences[-1]["classes"]
                progress.console.print(
                    f"{title}: experience {number} of {len(result.chances)}, classes {classes}: "
                    f"{seen} %",
                    highlight=False,
                    markup=False,
                )

        result = run(
            config,
            data,
            on_experience=on_experience,
            on_batch=on_batch,
            checkpoint=checkpoint if resumable else None,
        )
    record = result.record(environment)
    content = json.dumps(record.to_json(), indent=1)
    write_text(base.with_name(f"{base.name}.json"), f"{content}\n")
    if save is not None and result.learner is not None:
        result.learner.save(save, notes=_about(config, data, save))
    draw_curves([record], base.with_name(f"{base.name}.png"))
    checkpoint.unlink(missing_ok=True)
    return record


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Return a list that Ctrl-C puts something into; a second Ctrl-C interrupts at once."""
    asked: list[int] = []

    def ask(number: int, _: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    try:
        before = signal.signal(signal.SIGINT, ask)
    except ValueError:  # not the main thread: whoever owns that decides
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def dataset_name(dataset: str) -> str:
    """Return a dataset's name, or the last part of its path."""
    return Path(dataset).stem if "/" in dataset else dataset


def _name(config: ContinualConfig) -> str:
    """Name a run's files; settings other than the paper's add the start of their hash."""
    named = ("dataset", "scenario", "method", "algorithm", "seed")
    values = config.model_dump(mode="json")
    parts = [dataset_name(config.dataset), *(str(values[key]) for key in named[1:])]
    try:
        usual = config == ContinualConfig(**{key: values[key] for key in named})
    except ConfigurationError:  # a method that needs an option
        usual = False
    rest = [] if usual else [config_hash(values)[:8]]
    return "-".join([*parts, *rest]).replace(":", ".")


def _matrix_table(record: Record) -> Table:
    """Show accuracies in percent: a row after each experience, a column for each test split."""
    numbers = record.metrics
    table = Table(
        box=SIMPLE_HEAD,
        title=f"{record.algorithm}, {record.method}, {record.scenario} IL, "
        f"{record.dataset}, seed {record.seed}",
        caption=f"Acc {numbers['acc']:.2f}, Fgt {numbers['fgt']:.2f}, FwT {numbers['fwt']:.2f}, "
        f"BWT {numbers['bwt']:.2f} %",
    )
    table.add_column("after")
    for part in record.details["experiences"]:
        table.add_column("/".join(str(label) for label in part["classes"]), justify="right")
    for done, row in enumerate(record.details["matrix"]):
        cells = [f"[bold]{v:.2f}[/]" if i == done - 1 else f"{v:.2f}" for i, v in enumerate(row)]
        table.add_row("nothing" if not done else f"experience {done}", *cells)
    return table


def _comparison(records: list[Record]) -> Table:
    """Show accuracy and forgetting side by side: a row for each method and algorithm."""
    table = Table(box=SIMPLE_HEAD, title="in percent")
    for column in ("method", "algorithm", "Acc", "Fgt", "FwT", "BWT", "seconds", "memory MB"):
        table.add_column(column, justify="left" if column in ("method", "algorithm") else "right")
    for record in records:
        numbers = [f"{record.metrics[key]:.2f}" for key in ("acc", "fgt", "fwt", "bwt")]
        kept = f"{record.details['experiences'][-1]['strategy_mb']:.1f}"
        seconds = f"{record.seconds or 0:.0f}"
        table.add_row(record.method, record.algorithm, *numbers, seconds, kept)
    return table


def draw_curves(records: list[Record], path: Path) -> None:
    """Draw the accuracy over the experiences seen, after each, as a PNG file."""
    drawing = streams(cells(records))[0]
    with replacing(path) as temporary:
        temporary.write_bytes(drawing.png())
