"""``sffa bench``: speed and memory of everything that trains, in one run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sffa.bench.alone import BESIDE, SIZES, TASKS, Alone, measure_alone
from sffa.bench.contenders import CONTENDERS
from sffa.bench.shape import Shape
from sffa.bench.timing import Timing, measure, peak_memory
from sffa.cli.models import probe_writable
from sffa.cli.options import AsJson, Threads, prepare_kernels, use_threads
from sffa.errors import ConfigurationError, nearest
from sffa.files import write_text

_SWEEPS: dict[str, list[int]] = {
    "labels": [2, 5, 10, 26, 100],
    "width": [500, 1400, 4000],
    "batch": [64, 512, 2048],
}
_PEER = "fflib (ffa, pairs)"
_ALONE = ["sffa", "sffa, disjoint gate", "ffa", _PEER]
_SLOW = ("sffa, plain", "sffa, torch kernels", "ffa", _PEER)


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Contender to measure; may be repeated.", show_default="all"),
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep/--no-sweep", help="Also vary labels, width and batch.")
    ] = True,
    memory: Annotated[
        bool, typer.Option("--memory/--no-memory", help="Also measure peak memory.")
    ] = True,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone",
            help="Everyday sizes instead, each contender in a process of its own, compared with a "
            "plain MLP of torch in another.",
        ),
    ] = False,
    size: Annotated[
        list[int] | None,
        typer.Option(
            "--size",
            min=1,
            max=len(SIZES),
            help="Which of the everyday sizes, from the first on; may be repeated.",
            show_default="all",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=3, help="Rounds of each timing.")] = 15,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Time limit of each timing, three rounds apart.")
    ] = 30.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write the JSON here.", show_default="no")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Time training steps and predictions against back-propagation, in turns; medians.

    The shape is the paper's: 784-1400-1400, batch 512, ten labels; the sweep varies one at a time.
    """
    console = Console(stderr=True)
    use_threads(threads)
    _check_known(only or [])
    if not seconds >= 0:  # what is not a number is no limit either
        raise ConfigurationError(f"--seconds is a time limit of 0 or more, got {seconds}")
    if out is not None:
        probe_writable(out)
    prepare_kernels(console)
    if alone:
        shapes = [SIZES[number - 1] for number in size or range(1, len(SIZES) + 1)]
        _report(_alone(shapes, only, rounds, console, as_json), out, as_json)
        return
    shapes = [Shape(), *(_swept() if sweep else [])]
    _report(_together(shapes, only, rounds, seconds, memory, console, as_json), out, as_json)


def _swept() -> list[Shape]:
    """Return the paper's shape with one of its sizes changed at a time."""
    found = [Shape(**{field: value}) for field, values in _SWEEPS.items() for value in values]
    return [shape for shape in found if shape != Shape()]


def _together(
    shapes: list[Shape],
    only: list[str] | None,
    rounds: int,
    seconds: float,
    memory: bool,
    console: Console,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Measure all contenders in this process, shape by shape, and print a table for each."""
    names = _chosen(only, console)
    rows: list[dict[str, Any]] = []
    for shape in shapes:
        fitting = [name for name in names if _fits(name, shape)]
        title = f"{shape.labels} labels, width {shape.width}, batch {shape.batch}"
        with console.status(f"measuring {title} …"):
            timings = measure(shape, fitting, rounds=rounds, seconds=seconds)
            peaks = {n: peak_memory(n, shape) for n in fitting} if memory else {}
        rows += [asdict(t) | {"peak_mb": peaks.get(t.contender)} for t in timings]
        if not as_json:
            Console().print(_table(title, timings, peaks))
    return rows


def _report(rows: list[dict[str, Any]], out: Path | None, as_json: bool) -> None:
    text = json.dumps(rows, indent=1)
    if out is not None:
        write_text(out, text)
    if as_json:
        print(text)


def _alone(
    shapes: list[Shape], only: list[str] | None, rounds: int, console: Console, as_json: bool
) -> list[dict[str, Any]]:
    """Measure the everyday sizes and print a table for each."""
    names = [BESIDE, *_at_hand(only or _ALONE, console)]
    rows: list[dict[str, Any]] = []
    for shape in shapes:
        fitting = [name for name in names if _fits(name, shape)]
        title = (
            f"{shape.inputs}-{shape.width}-{shape.width}, batch {shape.batch}, "
            f"{shape.labels} labels, {torch.get_num_threads()} threads"
        )
        with console.status(f"measuring {title} …"):
            timings = measure_alone(shape, fitting, torch.get_num_threads(), min(rounds, 5))
        rows += [asdict(timing) for timing in timings]
        if not as_json:
            Console().print(_table_alone(title, timings))
    return rows


def _table_alone(title: str, timings: list[Alone]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    table.add_column("network", no_wrap=True)
    for task in ("step", "predict", "one row"):
        for column in (f"{task} ms", "x mlp", "x cpu"):
            table.add_column(column, justify="right", no_wrap=True)
    for name in dict.fromkeys(timing.contender for timing in timings):
        mine = {timing.task: timing for timing in timings if timing.contender == name}
        cells = [
            f"{getattr(mine[task], value):.2f}" if task in mine else "-"
            for task in TASKS
            for value in ("median", "ratio", "cpu_ratio")
        ]
        table.add_row(name, *cells)
    return table


def _check_known(names: list[str]) -> None:
    for name in names:
        if name not in CONTENDERS:
            known = ", ".join(CONTENDERS)
            hint = nearest(name, list(CONTENDERS))
            raise ConfigurationError(f"unknown contender '{name}'{hint} (known: {known})")


def _chosen(only: list[str] | None, console: Console) -> list[str]:
    """Return the contenders asked for, the baseline always."""
    names = [n for n in CONTENDERS if only is None or n in only or n == "backprop"]
    return _at_hand(names, console)


def _at_hand(names: list[str], console: Console) -> list[str]:
    """Leave out the peer if it is not installed, and say so."""
    if _PEER in names:
        try:
            CONTENDERS[_PEER](Shape(labels=2, width=2, batch=2, inputs=2))
        except ConfigurationError as error:
            console.print(f"left out: {error}", style="yellow", highlight=False, markup=False)
            return [name for name in names if name != _PEER]
    return names


def _fits(name: str, shape: Shape) -> bool:
    """Leave out what cannot be built, and dense passes too large to be worth the wait."""
    if "disjoint" in name and shape.width // 2 // shape.labels < shape.k:
        return False
    return not (name in _SLOW and shape.labels * shape.width * shape.batch > 10 * 1400 * 2048)


def _table(title: str, timings: list[Timing], peaks: dict[str, float]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left")
    table.add_column("network", no_wrap=True)
    for column in ("step ms", "quartiles", "x backprop", "predict ms", "x backprop", "peak MB"):
        table.add_column(column, justify="right", no_wrap=True)
    predictions = {t.contender: t for t in timings if t.task == "predict"}
    for step in (t for t in timings if t.task == "step"):
        prediction = predictions[step.contender]
        table.add_row(
            step.contender,
            f"{step.median:.1f}",
            f"{step.low:.1f}-{step.high:.1f}",
            f"{step.ratio:.2f}",
            f"{prediction.median:.1f}",
            f"{prediction.ratio:.2f}",
            f"{peaks[step.contender]:.0f}" if peaks else "-",
        )
    return table
