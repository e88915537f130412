"""Commands that are imported when they are called: help and completion need none of them."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """Lists the commands of ``table`` with what their source says of them, and imports on a call.

    ``table`` is name: ``module:attribute`` below ``sffa.cli``, a function or a Typer.
    """

    table: ClassVar[dict[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command that knows its help alone."""
        if cmd_name not in self.table:
            return None
        return TyperCommand(cmd_name, help=_help_of(self.table[cmd_name]))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that is called."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in self.table:
            command = _imported(name, self.table[name])
        return name, command, rest


def _imported(name: str, place: str) -> Any:
    module, attribute = place.split(":")
    found = getattr(importlib.import_module(f"sffa.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        found = alone
    command = get_command(found)
    command.name = name
    return command


def _help_of(place: str) -> str:
    """Read a function's docstring, or the help of a Typer, from the source."""
    module, attribute = place.split(":")
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            return ast.get_docstring(node) or ""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            given = {word.arg: word.value for word in node.value.keywords}
            if attribute in names and "help" in given:
                return str(ast.literal_eval(given["help"]))
    raise LookupError(f"sffa.cli.{place} has no help")
