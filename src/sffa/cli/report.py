"""``sffa report``: from records to one HTML file that opens offline, or to tables."""

from __future__ import annotations

import json
import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sffa.cli.options import AsJson
from sffa.cli.text import say
from sffa.errors import ConfigurationError
from sffa.files import check_writable


def report(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Stores, CSV files of studies, JSON records, or folders of these.",
            show_default="runs, else results",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="File to write: .html, or tables as .md or .tex.")
    ] = Path("report.html"),
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Folder that sffa analyze wrote.", show_default="none"),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "SFFA results",
    show: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a report of records: tables beside the paper's, figures, and a page for each run."""
    from sffa.report import write, write_latex, write_markdown
    from sffa.report.markdown import findings_beside
    from sffa.report.svg import read_folder
    from sffa.study import gather

    started = time.perf_counter()
    if out.suffix not in (".html", ".htm", ".md", ".tex"):
        raise ConfigurationError(f"--out is an .html, .md or .tex file, got {out}")
    if out.suffix in (".md", ".tex") and figures:
        raise ConfigurationError(f"--figures goes into an .html page; {out} draws its own")
    records = gather(sources or [])
    check_writable(out)
    command = " ".join(["sffa report", *map(str, sources or []), "--out", str(out)])
    if out.suffix == ".md":
        found = findings_beside(out.parent)
        path = write_markdown(out, records, title=title, findings=found, command=command)
    elif out.suffix == ".tex":
        path = write_latex(out, records, title=title, command=command)
    else:
        path = write(out, records, figures=read_folder(figures) if figures else (), title=title)
    size = path.stat().st_size
    seconds = time.perf_counter() - started
    if as_json:
        print(json.dumps({"report": str(path), "runs": len(records), "bytes": size}))
    else:
        told = f"{len(records):,} runs, {size / 1e6:.1f} MB, {seconds:.1f} s"
        say(Console(stderr=True), f"wrote {path}: {told}")
    if show:
        webbrowser.open(path.resolve().as_uri())
