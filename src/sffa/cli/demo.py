"""``sffa demo``: everything once, on embedded data, in one to two minutes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sffa.cli.options import AsJson, Seed, Threads, prepare_kernels, use_threads
from sffa.cli.text import say
from sffa.files import check_writable
from sffa.report.demo import PAGE, Demo, run_demo


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report.")] = Path("demo"),
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Epochs of each training.")] = 30,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Train SFFA, FFA and back-propagation on digits, watch forgetting and its cure, and report."""
    console = Console(stderr=True)
    use_threads(threads)
    check_writable(out / PAGE)
    started = time.perf_counter()
    prepare_kernels(console)
    with console.status("") as status:

        def tell(what: str) -> None:
            status.update(f"{what} …")

        result = run_demo(out, seed, epochs, tell)
    if as_json:
        records = {
            "static": [record.to_json() for record in result.static],
            "continual": [record.to_json() for record in result.continual],
        }
        print(json.dumps({**records, "report": str(result.page)}))
        return
    printer = Console()
    printer.print(_static_table(result))
    printer.print(_continual_table(result))
    seconds = time.perf_counter() - started
    say(printer, f"{seconds:.0f} s. Report: {result.page}")


def _static_table(result: Demo) -> Table:
    table = Table(title="ten digits at once", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm")
    for column in ("test accuracy", "seconds", "sparsity (Hoyer)"):
        table.add_column(column, justify="right")
    for record in result.static:
        found = result.sparsity.get(record.algorithm)
        table.add_row(
            record.algorithm,
            f"{record.metrics['last']:.1f} %",
            f"{record.seconds or 0:.1f}",
            f"{found.mean_hoyer()['positive']:.3f}" if found else "-",
        )
    return table


def _continual_table(result: Demo) -> Table:
    table = Table(
        title="two digits at a time: accuracy on all digits seen so far",
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("sffa")
    parts = result.continual[0].details["experiences"]
    for part in parts:
        table.add_column("+" + ",".join(map(str, part["classes"])), justify="right")
    for record in result.continual:
        table.add_row(record.method, *(f"{value:.1f} %" for value in record.details["curve"]))
    return table
