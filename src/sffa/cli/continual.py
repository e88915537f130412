"""``sffa continual``: learn a stream of experiences, and show what was forgotten."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from sffa.cli.bars import ExperienceBar
from sffa.cli.models import about, probe_writable
from sffa.cli.options import (
    AsJson,
    Backend,
    BatchSize,
    Board,
    DataDir,
    Hidden,
    OldBackend,
    Seed,
    Settings,
    StepSize,
    Threads,
    Track,
    backend_of,
    open_board,
    open_trackers,
    prepare_kernels,
    settings,
    use_threads,
    widths,
)
from sffa.cli.signals import stop_requests
from sffa.cli.stream_tables import comparison, matrix_table
from sffa.cli.text import say
from sffa.continual import METHODS, PAPER, STREAMS, ContinualConfig, Within, options_of, run
from sffa.continual.checkpoint import branch_of
from sffa.continual.strategies.registry import expectation
from sffa.continual.streams.registry import find_stream
from sffa.core import Callback, NetworkConfig
from sffa.core.learner import kind_of
from sffa.core.presets import COMPARED, PRESETS, is_network, learner_class, preset_of
from sffa.data import Dataset, load
from sffa.environment import describe
from sffa.errors import ConfigurationError, DataError, nearest
from sffa.files import read_text, replacing, write_text
from sffa.record import Record
from sffa.report.cells import cells
from sffa.report.figures import streams
from sffa.study.configuration import Run, file_name
from sffa.study.upgrade import from_json
from sffa.study.user_code import is_current

_METHOD = f"{', '.join(METHODS)}; joined by +; several: a,b; all of the paper; or module:Class."
RUNS = Path("runs")
_STREAM = f"{', '.join(STREAMS)}; or module:Class."
_SAVE = "Keep the trained network here."
_Dataset = Annotated[
    str, typer.Option("--dataset", help="A dataset to split, such as split-mnist, or a path.")
]
_Experiences = Annotated[
    int, typer.Option("--experiences", min=1, help="Parts the classes are split into.")
]
_Holdout = Annotated[
    float, typer.Option("--holdout", help="Share of each class set aside, to choose by.")
]
_Tests = Annotated[
    int,
    typer.Option("--within", min=0, help="Tests in each epoch: accuracy by examples seen."),
]
_Epochs = Annotated[
    int | None,
    typer.Option("--epochs", min=1, help="Passes over each part.", show_default="2; 1: task-free"),
]
_KEEP = "Keep a checkpoint of every experience, which --from can go on from."
_From = Annotated[
    Path | None,
    typer.Option("--from", help="Go on from a run with --keep: its .json.", show_default="no"),
]
_At = Annotated[
    int | None, typer.Option("--at", min=1, help="After so many experiences of --from.")
]
_ALGORITHM = f"{', '.join(COMPARED)}; several: a,b; all; or module:Class."


def continual(
    context: typer.Context,
    dataset: _Dataset = "split-mnist",
    scenario: Annotated[str, typer.Option("--scenario", help="class, domain or task.")] = "class",
    method: Annotated[str, typer.Option("--method", help=_METHOD)] = "naive",
    algorithm: Annotated[str, typer.Option("--algorithm", help=_ALGORITHM)] = "sffa",
    seed: Seed = 0,
    experiences: _Experiences = 5,
    stream: Annotated[str, typer.Option("--stream", help=_STREAM)] = "split",
    holdout: _Holdout = 0.0,
    epochs: _Epochs = None,
    batch_size: BatchSize = 512,
    lr: StepSize = 1e-3,
    hidden: Hidden = "1400,1400",
    out: Annotated[Path, typer.Option("--out", help="Folder for records and curves.")] = RUNS,
    save: Annotated[Path | None, typer.Option("--save", help=_SAVE, show_default="no")] = None,
    keep: Annotated[bool, typer.Option("--keep", help=_KEEP)] = False,
    origin: _From = None,
    at: _At = None,
    tensorboard: Board = None,
    track: Track = None,
    within: _Tests = 0,
    given: Settings = None,
    threads: Threads = None,
    backend: Backend = "auto",
    kernels: OldBackend = None,
    data_dir: DataDir = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No word of what to expect.")] = False,
    as_json: AsJson = False,
) -> None:
    """Learn the parts of a dataset one after the other, and test on all of them after each.

    Ctrl-C stops after the batch at hand; the same command goes on from there. --set takes options
    of the run, of a method or stream (ewc.strength) and of the network (gate).
    """
    use_threads(threads)
    named = ("dataset", "scenario", "seed", "experiences", "batch_size", "lr", "stream", "holdout")
    common = {name: context.params[name] for name in (*named, "method", "algorithm")}
    common |= {"hidden": widths(hidden), "backend": backend_of(backend, kernels)}
    common |= {} if epochs is None else {"epochs": epochs}
    asked = settings(given)
    start = _branch(context, origin, at, common, asked) if origin or at else None
    configs = _configurations(common, asked)
    _check_save(save, configs)
    needs_data = find_stream(configs[0].stream).needs_data
    data = load(configs[0].dataset, data_dir=data_dir) if needs_data else None
    console = Console(stderr=True)
    _warn([] if quiet else configs, console)
    if common["backend"] != "torch" and any(is_network(config.algorithm) for config in configs):
        prepare_kernels(console)
    files = _Files(out, save, keep, start, _Watch(tensorboard, tuple(track or ()), within))
    records = [
        (len(configs) > 1 and _kept(config, out, console)) or _run(config, data, files, console)
        for config in configs
    ]
    if as_json:
        _print_json(records)
        return
    _show(records, out / f"{dataset_name(dataset)}-{scenario}-{seed}.png")
    say(console, f"records and curves are in {out}")


class _Files(NamedTuple):
    """Where a run writes to, and which checkpoint it starts from."""

    out: Path
    save: Path | None
    keep: bool
    start: Path | None
    watch: _Watch


def _branch(
    context: typer.Context,
    origin: Path | None,
    at: int | None,
    common: dict[str, Any],
    asked: dict[str, Any],
) -> Path:
    """Return the checkpoint that a branch starts from; write its configuration into ``common``.

    It is that of the kept run but for what the command line says.
    """
    if origin is None or at is None:
        raise ConfigurationError("a branch needs both: --from RUN.json and --at EXPERIENCES")
    try:
        values = _recorded(origin).config
    except (DataError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"--from {origin}: cannot read a record: {error}") from None
    start = kept_folder(origin) / f"{at:04d}.safetensors"
    if not start.is_file():
        raise ConfigurationError(
            f"there is no {start}: run {origin.stem} with --keep, or other --at"
        )
    common |= values | {n: v for n, v in common.items() if _said(context, n)}
    owners = {*str(common["method"]).split("+"), common.get("stream", "split")}
    options = {k: v for k, v in values["options"].items() if k.rpartition(".")[0] in owners}
    options |= {f"network.{k}": v for k, v in values["network"].items()}
    asked |= {k: v for k, v in options.items() if not {k, k.partition(".")[2]} & {*asked}}
    for name in ("options", "network", "branch"):
        common.pop(name, None)
    return start


def _recorded(path: Path) -> Record:
    """Read the record of one run in a stream."""
    given = json.loads(read_text(path))
    if not isinstance(given, dict):
        raise DataError("expected one record, an object")
    record = from_json(given)
    if not {"options", "network", "method"} <= {*record.config}:
        raise DataError("it is not of a run in a stream")
    return record


def _said(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def kept_folder(record: Path) -> Path:
    """Return the folder of the checkpoints that were kept beside a record."""
    return record.with_name(f"{record.stem}.kept")


def _warn(configs: list[ContinualConfig], console: Console) -> None:
    """Say before training which methods cannot work in their scenario.

    Closed forms forget nothing, and new examples that compete among new labels spare old ones.
    """
    forgetful = [
        c
        for c in configs
        if len(c.class_order or range(c.experiences)) > 1
        and not preset_of(c.algorithm).kind.closed_form
        and c.network.get("contrast_with") != "current"
    ]
    told = (expectation(c.method, c.scenario, _last_share(c)) for c in forgetful)
    for line in dict.fromkeys(told):
        if line:
            console.print(line, style="yellow", highlight=False, markup=False, soft_wrap=True)


def _last_share(config: ContinualConfig) -> float | None:
    """Return the share of the classes that come last, where the configuration tells."""
    if config.stream != "split":
        return None
    if config.class_order is None:
        return 1 / config.experiences
    return len(config.class_order[-1]) / sum(map(len, config.class_order))


def _print_json(records: list[Record]) -> None:
    printed = [record.to_json() for record in records]
    print(json.dumps(printed[0] if len(printed) == 1 else printed))


def _show(records: list[Record], curves: Path) -> None:
    """Print the accuracies of all runs, and draw those of several together."""
    for record in records:
        Console().print(matrix_table(record))
    if len(records) > 1:
        Console().print(comparison(records))
        draw_curves(records, curves)


def _configurations(common: dict[str, Any], asked: dict[str, Any]) -> list[ContinualConfig]:
    method, algorithm = common["method"], common["algorithm"]
    methods = list(PAPER) if method == "all" else _several(method)
    algorithms = list(COMPARED) if algorithm == "all" else _several(algorithm)
    return [
        _configured(common, m, a, asked, len(methods) > 1, len(algorithms) > 1)
        for m in methods
        for a in algorithms
    ]


def _several(names: str) -> list[str]:
    """Return the names between commas, each once."""
    return list(dict.fromkeys(name.strip() for name in names.split(",")))


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
        if key == "branch":
            raise ConfigurationError("a branch is made with --from and --at, not with --set")
        if key in ContinualConfig.model_fields:
            run_fields[key] = value
        elif "." in key and first != "network":
            if not methods or first in method.split("+") or first not in METHODS:
                options[key] = value
        elif key not in NetworkConfig.model_fields and (owner := _owner(key, method)):
            options[f"{owner}.{key}"] = value
        elif not algorithms or is_network(algorithm):
            _check_spelling(key, algorithm)
            network[key.removeprefix("network.")] = value
    chosen = {"method": method, "algorithm": algorithm, "options": options, "network": network}
    return ContinualConfig(**{**common, **chosen, **run_fields})


def _check_spelling(key: str, algorithm: str) -> None:
    """Refuse what is no option of the network, but nearly one of the run."""
    known = [*NetworkConfig.model_fields, *NetworkConfig.renamed]
    if algorithm in PRESETS and is_network(algorithm) and not nearest(key, known):
        hint = nearest(key, list(ContinualConfig.model_fields))
        if hint:
            raise ConfigurationError(f"unknown option '{key}'{hint}")


def _check_save(save: Path | None, configs: list[ContinualConfig]) -> None:
    """Refuse before hours of training what could not be kept after them."""
    if save is None:
        return
    if len(configs) > 1:
        raise ConfigurationError(f"--save {save} keeps one network, not those of {len(configs)}")
    if not _storable(configs[0]):
        raise ConfigurationError(
            f"--save keeps networks that files can hold, not of '{configs[0].algorithm}': it needs "
            "a config and restore"
        )
    probe_writable(save)


def _storable(config: ContinualConfig) -> bool:
    """Whether files can hold the networks of an algorithm."""
    return kind_of(learner_class(config.algorithm)) is not None


def _about(config: ContinualConfig, data: Dataset | None, save: Path) -> dict[str, Any]:
    """Return what a model file says of its data; in Domain IL a label is a place, not a class."""
    if data is None:
        return {}
    notes = about(config.dataset, config.algorithm, data, save)
    if config.scenario == "domain":
        del notes["class_names"]
    return notes


def _owner(option: str, method: str) -> str | None:
    """Return the part of a method that has an option of that name."""
    return next((part for part in method.split("+") if option in options_of(part)), None)


def _kept(config: ContinualConfig, out: Path, console: Console) -> Record | None:
    """Return the record of a run that an earlier command finished, one of several.

    So a comparison that was stopped goes on with the run it was stopped in.
    """
    path = out / f"{file_name(Run(config))}.json"
    try:
        record = _recorded(path)
    except (DataError, ValueError, RecursionError):
        return None
    if record.config != config.model_dump(mode="json"):
        return None
    if not is_current(record):
        say(console, f"{path} was made with another source of {config.method}: running it again")
        return None
    say(console, f"{path} is there already; delete it to run that again")
    return record


@dataclass(frozen=True)
class _Watch:
    """Who looks on: TensorBoard, if it has a folder, trackers, and tests within each epoch."""

    tensorboard: Path | None
    trackers: tuple[str, ...]
    within: int

    def callbacks(self, run: str, data: Dataset | None, stack: ExitStack) -> list[Callback]:
        """Return the callbacks of one run, which writes under its name until ``stack`` ends."""
        folder = self.tensorboard and self.tensorboard / run
        board = None if data is None else open_board(folder, data)
        found: list[Callback] = [] if board is None else [board]
        found += open_trackers(self.trackers, run, stack)
        return [*found, Within(self.within)] if self.within else found


def _run(
    config: ContinualConfig,
    data: Dataset | None,
    files: _Files,
    console: Console,
) -> Record:
    """Run one configuration with a progress bar; write its record and curve; return the record."""
    out, save = files.out, files.save
    if files.start is not None:
        config = config.model_copy(update={"branch": branch_of(files.start)})
    environment = describe()  # before the run: files may change while it takes its time
    name = file_name(Run(config))
    checkpoint = out / f"{name}.checkpoint.safetensors"
    for ending in ("json", "png"):
        probe_writable(out / f"{name}.{ending}")
    title = f"{config.algorithm} {config.method} {config.scenario} IL"
    stack = ExitStack()
    with stop_requests() as asked, ExperienceBar(console, title, asked) as bar, stack:
        result = run(
            config,
            data,
            callbacks=[bar, *files.watch.callbacks(name, data, stack)],
            checkpoint=checkpoint if _storable(config) else None,
            keep=kept_folder(out / f"{name}.json") if files.keep else None,
            start=files.start,
        )
    record = result.record(environment)
    write_text(out / f"{name}.json", json.dumps(record.to_json(), indent=1) + "\n")
    if save is not None and result.learner is not None:
        result.learner.save(save, notes=_about(config, data, save))
    draw_curves([record], out / f"{name}.png")
    checkpoint.unlink(missing_ok=True)
    return record


def dataset_name(dataset: str) -> str:
    """Return a dataset's name, or the last part of its path."""
    return Path(dataset).stem if "/" in dataset else dataset


def draw_curves(records: list[Record], path: Path) -> None:
    """Draw the accuracy over the experiences seen, after each, as a PNG file."""
    drawing = streams(cells(records))[0]
    with replacing(path) as temporary:
        temporary.write_bytes(drawing.png())
