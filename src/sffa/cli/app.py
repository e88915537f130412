"""The commands of ``sffa``, gathered."""

from __future__ import annotations

from typing import Annotated, ClassVar

import typer

from sffa._version import __version__
from sffa.cli.lazy import LazyGroup
from sffa.extension import import_module


class Commands(LazyGroup):
    """Every command, in the order of the help."""

    table: ClassVar[dict[str, str]] = {
        "demo": "demo:demo",
        "train": "train:train",
        "evaluate": "evaluate:evaluate",
        "predict": "predict:predict",
        "continual": "continual:continual",
        "reproduce": "reproduce:reproduce",
        "report": "report:report",
        "analyze": "analyze:app",
        "study": "study:app",
        "data": "data:app",
        "export": "export:export",
        "bench": "bench:bench",
        "play": "play:play",
    }


app = typer.Typer(
    cls=Commands,
    help="Train networks without back-propagation, and keep them learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    modules: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="Import a module of yours first, with classes that files name; may be repeated.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Train networks without back-propagation, and keep them learning."""
    for name in modules or []:
        import_module(name)
