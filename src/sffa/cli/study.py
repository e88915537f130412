"""``sffa study``: look into a store, check it, and carry records in and out as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from sffa.cli.progress_view import wide_console
from sffa.cli.text import plain
from sffa.study import Store, export_csv, import_csv, read_records
from sffa.study.compare import written
from sffa.study.statistics import Summary

app = typer.Typer(help="Look into stores of records; CSV in and out.", no_args_is_help=True)

StorePath = Annotated[Path, typer.Argument(help="The store.", show_default=False)]
CsvPath = Annotated[Path, typer.Argument(help="The CSV file.", show_default=False)]


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="A store or a CSV.", show_default=False)],
) -> None:
    """Show mean and standard error of every cell, and what failed."""
    from sffa.report.cells import cells

    metrics = ("acc", "best", "fgt", "fwt")
    columns = ("dataset", "scenario", "method", "algorithm", "variant")
    table = Table(box=SIMPLE_HEAD)
    for name in (*columns, "done", "failed", *metrics):
        table.add_column(name, no_wrap=True)
    for cell in cells(read_records(path)):
        names = cell.dataset, cell.scenario, cell.method, cell.algorithm, cell.variant
        row = [plain(name) for name in names]
        row += [plain(len(cell.runs)), plain(len(cell.failed))]
        table.add_row(*row, *(_written(cell.summary(metric)) for metric in metrics))
    wide_console().print(table)


def _written(found: Summary | None) -> str:
    if found is None:
        return ""
    return written(found.mean, found.sem)


@app.command()
def check(store: StorePath) -> None:
    """Verify a store; one that cannot be trusted is set aside, and what can be read is saved."""
    with Store(store, make=False) as opened:
        print(opened.notice or f"{store}: {len(opened.records())} records, all intact")


@app.command("export")
def export_(store: StorePath, csv: CsvPath) -> None:
    """Write all records of a store as CSV."""
    with Store(store, readonly=True) as opened:
        print(f"{export_csv(csv, opened.records())} records in {csv}")


@app.command("import")
def import_(csv: CsvPath, store: StorePath) -> None:
    """Take the records of a CSV into a store; those that it has stay as they are."""
    records = import_csv(csv)
    with Store(store) as opened:
        if opened.notice:
            print(opened.notice)
        print(f"{opened.add(records)} of {len(records)} records were new in {store}")
