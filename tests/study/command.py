"""``sffa reproduce`` and ``sffa study`` as a process of their own, without the other commands."""

import sys

import typer
from typer.main import get_command

from sffa.cli.reproduce import reproduce
from sffa.cli.study import app as study
from sffa.errors import SFFAError


def application() -> typer.Typer:
    app = typer.Typer()
    app.command()(reproduce)
    app.add_typer(study, name="study")
    return app


def main() -> int:
    try:
        code = get_command(application()).main(standalone_mode=False)
    except SFFAError as error:
        print("error:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
