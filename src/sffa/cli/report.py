"""``sffa report``: from records to one HTML file that opens offline."""

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


def report(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Stores, CSV files of studies, JSON records, or folders of these.",
            show_default="runs, else results",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", help="File to write: .html, or .md for plain tables.")
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
    from sffa.report import write, write_markdown
    from sffa.report.markdown import findings_beside
    from sffa.report.svg import read_folder
    from sffa.study import gather

    started = time.perf_counter()
    if out.suffix not in (".html", ".htm", ".md"):
        raise ConfigurationError(f"--out is an .html or an .md file, got {out}")
    if out.suffix == ".md" and figures:
        raise ConfigurationError("--figures goes into an .html page; a .md file draws its own")
    records = gather(sources or [])
    if out.suffix == ".md":
        command = " ".join(["sffa report", *(str(source) for source in sources or []), "--out"])
        found = findings_beside(out.parent)
        path = write_markdown(out, records, title=title, findings=found, command=f"{command} {out}")
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
