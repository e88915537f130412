"""``sffa study``: look into a store, check it, and carry records in and out as CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from sffa.cli.options import AsJson, DataDir, use_data_dir
from sffa.cli.progress_view import wide_console
from sffa.cli.text import plain
from sffa.errors import ConfigurationError
from sffa.files import check_writable, write_text
from sffa.study import Store, export_csv, gather, import_csv, read_records
from sffa.study.compare import written
from sffa.study.statistics import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sffa.report.cells import Cell
    from sffa.report.choice import Choice

app = typer.Typer(
    help="Look into stores of records; CSV in and out.", no_args_is_help=True, add_completion=False
)

_PLACE = ("dataset", "scenario", "method", "algorithm")
_METRICS = ("acc", "val_acc", "best", "fgt", "fwt")

StorePath = Annotated[Path, typer.Argument(help="The store.", show_default=False)]
CsvPath = Annotated[Path, typer.Argument(help="The CSV file.", show_default=False)]


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="A store or a CSV.", show_default=False)],
) -> None:
    """Show mean and standard error of every cell, and what failed."""
    from sffa.report.cells import cells
    from sffa.report.variants import common
    from sffa.report.variants import written as named

    found = cells(read_records(path))
    metrics = [name for name in _METRICS if any(cell.summary(name) for cell in found)]
    shared = common([cell.deviations for cell in found])
    place = common([dict(zip(_PLACE, cell.place, strict=True)) for cell in found])
    told = ", ".join([*map(str, place.values()), *([named(shared)] if shared else [])])
    table = Table(box=SIMPLE_HEAD, caption=plain(f"all: {told}") if told else None)
    places = [name for name in _PLACE if name not in place]
    failed = any(cell.failed for cell in found)
    counts = ("done", *(["failed"] if failed else []))
    _add_columns(table, (*places, "variant"), (*counts, *metrics))
    for cell in found:
        words = [*(getattr(cell, name) for name in places), _variant(cell, shared)]
        row = [plain(name) for name in words]
        row += [plain(len(cell.runs)), *([plain(len(cell.failed))] if failed else [])]
        table.add_row(*row, *(_written(cell.summary(metric)) for metric in metrics))
    wide_console().print(table)


def _add_columns(table: Table, words: Sequence[str], numbers: Sequence[str]) -> None:
    """Add columns: where a terminal is narrow, words are broken, numbers never."""
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, no_wrap=True)


def _variant(cell: Cell, shared: Mapping[str, Any]) -> str:
    """Return the name of a variant without what all cells share, which stands once below."""
    from sffa.report.variants import written as named

    own = cell.deviations
    if cell.variant != named(own):  # named by other settings, or the only one
        return cell.variant
    return named({key: value for key, value in own.items() if key not in shared})


def _written(found: Summary | None) -> str:
    if found is None:
        return ""
    return written(found.mean, found.sem)


@app.command()
def best(
    path: Annotated[Path, typer.Argument(help="A store or a CSV.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Choose the best settings of every cell on held-out examples; show their test accuracy."""
    from sffa.report.choice import CHOSEN_BY, choices

    found = choices(read_records(path))
    if as_json:
        print(json.dumps({"chosen_by": CHOSEN_BY, "choices": [_chosen(c) for c in found]}))
        return
    table = Table(box=SIMPLE_HEAD, caption=f"chosen by {CHOSEN_BY}")
    _add_columns(table, (*_PLACE, "settings"), ("tried", "seeds", "held out, %", "test, %"))
    for choice in found:
        cell = choice.cell
        names = (*cell.place, cell.variant or "the only ones", choice.tried, len(choice.seeds))
        numbers = (written(each.mean, each.sem) for each in (choice.held, choice.test))
        table.add_row(*(plain(name) for name in names), *numbers)
    wide_console().print(table)


def _chosen(choice: Choice) -> dict[str, Any]:
    """Return a choice as JSON has it; its configuration is that of any of its runs."""
    config = {k: v for k, v in choice.cell.runs[0].config.items() if k != "seed"}
    numbers = {"held": choice.held, "test": choice.test}
    return {
        "config": config,
        "settings": choice.cell.variant,
        "tried": choice.tried,
        "seeds": list(choice.seeds),
        **{name: {"mean": each.mean, "sem": each.sem} for name, each in numbers.items()},
    }


@app.command()
def ledger(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="As those of sffa report.", show_default="runs, else results"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="File to write: .md or .tex.")] = Path(
        "LEDGER.md"
    ),
) -> None:
    """Write every cell of the paper beside ours: verdict, failures, date, commit and command."""
    from sffa.report.latex import as_latex
    from sffa.report.ledger import INTRODUCTION, ledger
    from sffa.report.markdown import as_markdown
    from sffa.report.sections import Section

    forms = {".md": as_markdown, ".tex": as_latex}
    if out.suffix not in forms:
        raise ConfigurationError(f"--out is an .md or .tex file, got {out}")
    command = " ".join(["sffa study ledger", *map(str, sources or []), "--out", str(out)])
    introduction = Section("", [f"Made by `{command}`.", INTRODUCTION])
    sections = [introduction, *ledger(gather(sources or []))]
    write_text(out, forms[out.suffix]("Reproduction ledger", sections))
    print(f"wrote {out}")


@app.command()
def rerun(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="As those of sffa report.", show_default="runs, else results"),
    ] = None,
    count: Annotated[int, typer.Option("--runs", min=1, help="How many, drawn at random.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the draw.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV file to write.", show_default="none")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Run some records again, and say whether they come to the same."""
    from sffa.report.drawing import table
    from sffa.study.rerun import WIDE
    from sffa.study.rerun import rerun as again
    from sffa.study.statistics import summarise

    use_data_dir(data_dir)
    if out is not None:
        check_writable(out)
    console = wide_console()
    found = []
    for one in again(gather(sources or []), count, seed):
        found.append(one)
        before, now = (record.metrics["acc"] for record in (one.before, one.now))
        spread = "" if one.spread is None else f", standard deviation of seeds {one.spread:.2f}"
        console.print(plain(f"{one.before}: {now:.2f}, before {before:.2f}{spread}: {one.verdict}"))
        if out is not None:
            write_text(out, table([each.row() for each in found]))
    verdicts = [one.verdict for one in found]
    counts = {name: verdicts.count(name) for name in ("equal", "within", "apart", "open")}
    print(
        f"{counts['equal']} equal, {counts['within']} within {WIDE} standard deviations of their "
        f"seeds, {counts['apart']} apart, {counts['open']} open: too few seeds to say"
    )
    mean = summarise([one.difference for one in found])
    if mean is not None and (between := mean.interval()) is not None:
        print(f"mean difference {mean.mean:+.2f} points [{between[0]:+.2f}, {between[1]:+.2f}]")
    if counts["apart"]:
        raise typer.Exit(1)


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
