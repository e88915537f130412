"""Options that several commands share, and ``--set key=value``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import torch
import typer
from rich.console import Console

from sffa import kernels
from sffa.data import Dataset, Reference
from sffa.data.directory import VARIABLE
from sffa.data.reference import size_of
from sffa.errors import ConfigurationError, warn_renamed
from sffa.study.study_file import value_of
from sffa.study.threads import check_threads

if TYPE_CHECKING:
    from sffa.integrations.tensorboard import Board as TensorBoard
    from sffa.integrations.trackers import Tracker

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Directory of datasets.",
        show_default="SFFA_DATA_DIR, else a per-user cache",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="CPU threads to use.", show_default="all cores"),
]
Device = Annotated[str, typer.Option("--device", help="Where to compute: cpu, cuda, cuda:1, mps.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set any configuration field, such as k=10 or gate=0.3; may be repeated.",
        show_default="none",
    ),
]


Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="Column of a table that holds the labels; of an .npy file its number, or a file.",
        show_default="none",
    ),
]
Size = Annotated[
    str | None,
    typer.Option("--size", help="Bring images of a folder to this size, such as 32x32."),
]
SkipUnreadable = Annotated[
    bool, typer.Option("--skip-unreadable", help="Leave out images that cannot be read.")
]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, help="Examples a step.")]
StepSize = Annotated[float, typer.Option("--lr", help="Step size of Adam.")]
Hidden = Annotated[str, typer.Option("--hidden", help="Widths of the layers.")]
Backend = Annotated[str, typer.Option("--backend", help="auto, torch or numba.")]
OldBackend = Annotated[str | None, typer.Option("--kernels", hidden=True, help="Now --backend.")]
Records = Annotated[Path, typer.Option("--records", help="Folder for the record of the run.")]
Board = Annotated[
    Path | None,
    typer.Option(
        "--tensorboard", help="Write events for TensorBoard into this folder.", show_default="no"
    ),
]

Track = Annotated[
    list[str] | None,
    typer.Option(
        "--track",
        metavar="KIND:PLACE",
        help="Keep numbers with csv:FILE, mlflow:FOLDER or tensorboard:FOLDER; may be repeated.",
        show_default="no",
    ),
]


def open_trackers(
    asked: Sequence[str], run: str, stack: ExitStack, config: Mapping[str, Any] | None = None
) -> list[Tracker]:
    """Open what ``--track`` names until ``stack`` ends; ``config`` is kept with the numbers."""
    from sffa.integrations.trackers import open_tracker

    found = [stack.enter_context(open_tracker(text, run)) for text in asked]
    for tracker in found:
        tracker.parameters(config or {})
    return found


def open_board(folder: Path | None, data: Dataset) -> TensorBoard | None:
    """Open a TensorBoard folder, if one was asked for, that looks at test examples."""
    if folder is None:
        return None
    from sffa.integrations.tensorboard import Board as Open

    return Open(folder, data.test.flat, data.test.y)


def settings(given: list[str] | None) -> dict[str, Any]:
    """Read ``key=value`` pairs; a value is JSON where it can be, otherwise text.

    >>> settings(["k=10", "gate=disjoint", "hidden=[500, 500]"])
    {'k': 10, 'gate': 'disjoint', 'hidden': [500, 500]}
    """
    values: dict[str, Any] = {}
    for pair in given or []:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--set expects key=value, got '{pair[:80]}'")
        values[key] = value_of(text)
    return values


def dataset_of(
    dataset: str | None, target: str | None, size: str | None, skip_unreadable: bool
) -> str | None:
    """Return a dataset and how to read it as one string; None if none was named.

    >>> dataset_of("table.csv", "label", None, False)
    'table.csv#target=label'
    """
    if target is None and size is None and not skip_unreadable:
        return dataset
    if dataset is None:
        raise ConfigurationError(
            "--target, --size and --skip-unreadable say how to read --dataset, which is not given"
        )
    wanted = None if size is None else size_of(size)
    return str(Reference(dataset, target, wanted, skip_unreadable))


def backend_of(backend: str, kernels: str | None) -> str:
    """Return the backend asked for, also under its old name."""
    if kernels is None:
        return backend
    warn_renamed("--kernels", "--backend")
    return kernels


def widths(text: str) -> tuple[int, ...]:
    """Read layer widths such as ``1400,1400``.

    >>> widths("500,300")
    (500, 300)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ConfigurationError(
            f"layer widths look like 1400,1400; cannot read '{text[:80]}'"
        ) from None


def use_data_dir(path: Path | None) -> None:
    """Let this process, and those it starts, look for datasets there."""
    if path is not None:
        os.environ[VARIABLE] = str(path.absolute())


def use_threads(threads: int | None) -> None:
    """Make torch, and with it the numba kernels, use that many threads."""
    if threads is not None:
        check_threads(threads)
        torch.set_num_threads(threads)


def use_device(name: str) -> torch.device:
    """Return the device of that name, or say why it cannot be used."""
    try:
        device = torch.device(name)
        float(torch.ones(1, device=device) + 1)  # a device such as meta computes nothing
    except (RuntimeError, AssertionError, ImportError, ValueError, OverflowError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ConfigurationError(f"device '{name}' cannot be used here: {reason}") from None
    return device


def prepare_kernels(console: Console) -> None:
    """Compile the kernels, visibly if it takes a moment; numba keeps them for the next time."""
    with console.status("compiling kernels (once) …"):
        seconds = kernels.warm_up()
    if seconds > 2:
        console.print(f"kernels compiled in {seconds:.0f} s, kept for the next time")
