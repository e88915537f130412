"""The commands of ``sffa``, gathered."""

from __future__ import annotations

from typing import Annotated

import typer

from sffa._version import __version__
from sffa.cli import analyze, data, study
from sffa.cli.bench import bench
from sffa.cli.continual import continual
from sffa.cli.demo import demo
from sffa.cli.evaluate import evaluate
from sffa.cli.export import export
from sffa.cli.play import play
from sffa.cli.predict import predict
from sffa.cli.report import report
from sffa.cli.reproduce import reproduce
from sffa.cli.train import train

app = typer.Typer(
    help="Train networks without back-propagation, and keep them learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(train)
app.command()(evaluate)
app.command()(predict)
app.command()(continual)
app.command()(reproduce)
app.command()(report)
app.add_typer(analyze.app, name="analyze")
app.add_typer(study.app, name="study")
app.add_typer(data.app, name="data")
app.command()(export)
app.command()(bench)
app.command()(play)


def _show_version(value: bool) -> None:
    if value:
        print(f"sffa {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Train networks without back-propagation, and keep them learning."""
