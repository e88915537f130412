"""``sffa study``: look into a store, check it, and carry records in and out as CSV."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from sffa.cli.live import wide_console
from sffa.study import Record, Store, StudyError, export_csv, import_csv, read_records
from sffa.study.compare import mean_and_sem

app = typer.Typer(help="Look into stores of records; CSV in and out.", no_args_is_help=True)

StorePath = Annotated[Path, typer.Argument(help="The store.", show_default=False)]
CsvPath = Annotated[Path, typer.Argument(help="The CSV file.", show_default=False)]


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="A store or a CSV.", show_default=False)],
) -> None:
    """Show mean and standard error of every cell, and what failed."""
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in read_records(path):
        groups[(*record.cell, record.key.config_hash[:8])].append(record)
    metrics = ("acc", "best", "fgt", "fwt")
    names = ("dataset", "scenario", "method", "algorithm", "config")
    table = Table(box=SIMPLE_HEAD)
    for name in (*names, "done", "failed", *metrics):
        table.add_column(name, no_wrap=True)
    for cell, members in groups.items():
        failed = sum(record.status == "failed" for record in members)
        numbers = [_mean(members, metric) for metric in metrics]
        table.add_row(*cell, str(len(members) - failed), str(failed), *numbers)
    wide_console().print(table)


def _mean(members: list[Record], metric: str) -> str:
    values = [value for record in members if (value := record.metrics.get(metric)) is not None]
    if not values:
        return ""
    mean, sem = mean_and_sem(values)
    return f"{mean:.2f}" if sem is None else f"{mean:.2f} ± {sem:.2f}"


@app.command()
def check(store: StorePath) -> None:
    """Verify a store; one that cannot be trusted is set aside, and what can be read is saved."""
    if not store.is_file():
        raise StudyError(f"there is no store at {store}")
    with Store(store) as opened:
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
