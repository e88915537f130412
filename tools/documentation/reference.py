"""Pages of reference made from the code: public names, the command line, options, the store.

Nothing on them is written by hand, so nothing on them can be forgotten.
"""

from __future__ import annotations

import ast
import functools
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mkdocs.structure.files import File, Files
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

SOURCE = Path("src/sffa")
# The page of a name that several packages export is the first here that has it.
PAGES = {
    "sffa": "The names most programs need",
    "sffa.core": "Learners, training and callbacks",
    "sffa.data": "Datasets, known ones and your own",
    "sffa.continual": "Streams, scenarios, strategies and the run",
    "sffa.record": "The record of a run",
    "sffa.study": "Experiments as data",
    "sffa.study.statistics": "Paired differences, intervals and corrections",
    "sffa.report": "Tables, figures and the page",
    "sffa.analysis": "Looking into a trained network",
    "sffa.integrations.onnx": "ONNX",
    "sffa.integrations.export_modules": "torch.export",
    "sffa.integrations.avalanche": "Avalanche: models and loss",
    "sffa.integrations.avalanche_run": "Avalanche: whole runs",
    "sffa.integrations.river": "River",
    "sffa.integrations.tracker": "What a tracker is",
    "sffa.integrations.trackers": "CSV and MLflow",
    "sffa.integrations.tensorboard": "TensorBoard",
    "sffa.lite": "Without torch",
    "sffa.kernels": "Backends",
    "sffa.testing": "Contracts, to check classes of your own",
    "sffa.errors": "Errors and warnings",
}


MADE = {
    "Command line": "reference/command-line.md",
    "Configuration": "reference/configuration.md",
    "The store": "reference/store.md",
}


def on_config(config: Any, **_: Any) -> Any:
    """Put the pages of reference below their place in the navigation."""
    modules = {name: f"reference/{name}.md" for name in PAGES}
    below = ["reference/index.md", *({name: page} for name, page in {**MADE, **modules}.items())]
    for entry in config["nav"]:
        if entry.get("Reference") == "reference/index.md":
            entry["Reference"] = below
    return config


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages of reference."""
    pages = {f"reference/{name}.md": text for name, text in api_pages()}
    pages["reference/index.md"] = _overview()
    made = (command_line(), configuration(), store())
    pages |= dict(zip(MADE.values(), made, strict=True))
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def public_names(module: str) -> list[str]:
    """Return what a module exports: its ``__all__``, else its functions and classes."""
    tree = _tree(module)
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    defined = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return [node.name for node in defined if not node.name.startswith("_")]


def origin(module: str, name: str) -> str:
    """Return where a name is defined, through the modules that pass it on."""
    for node in _imports(_tree(module).body):
        for alias in node.names:
            if (alias.asname or alias.name) != name or node.module == module:
                continue
            if _is_module(f"{node.module}.{alias.name}"):
                return f"{node.module}.{alias.name}"
            return origin(str(node.module), alias.name)
    return f"{module}.{name}"


def _imports(body: Sequence[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """Yield the imports from the package that a module makes when it is imported or checked."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("sffa"):
            yield node
        elif isinstance(node, ast.If):
            yield from _imports(node.body)


@functools.cache
def _is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def _tree(module: str) -> ast.Module:
    path = SOURCE.joinpath(*module.split(".")[1:])
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each module, every name on one of them only."""
    met: set[str] = set()
    for module, title in PAGES.items():
        names = [name for name in public_names(module) if origin(module, name) not in met]
        met |= {origin(module, name) for name in names}
        parts = [f"::: {module}.{name}\n    options:\n      heading_level: 2\n" for name in names]
        yield module, f"# `{module}`\n\n{title}.\n\n" + "\n".join(parts)


def _overview() -> str:
    rows = [(f"[`{module}`]({module}.md)", title) for module, title in PAGES.items()]
    others = [
        ("[Command line](command-line.md)", "every command with its options"),
        ("[Configuration](configuration.md)", "every option of networks, runs, methods, streams"),
        ("[The store](store.md)", "its tables; [how records are kept](../results-store.md)"),
    ]
    words = "Made from the code when the site is built: what the packages export is here."
    return f"# Reference\n\n{words}\n\n" + table(("page", "what is there"), rows + others)


def command_line() -> str:
    """Return the help of every command, as the commands have it."""
    from typer import Context
    from typer.cli import get_docs_for_click
    from typer.main import get_command

    from sffa.cli.app import app

    command = get_command(app)
    context = Context(command, info_name="sffa")
    return get_docs_for_click(obj=command, ctx=context, name="sffa", title="Command line")


def configuration() -> str:
    """Return the options of every configuration, from the models that check them."""
    from sffa.continual import METHODS, STREAMS, ContinualConfig, options_of, stream_options
    from sffa.core import BackpropConfig, NetworkConfig
    from sffa.core.closed_form import RidgeConfig, SLDAConfig
    from sffa.study import StaticConfig

    models = {
        "A network": NetworkConfig,
        "Back-propagation": BackpropConfig,
        "Ridge": RidgeConfig,
        "SLDA": SLDAConfig,
        "A static run": StaticConfig,
        "A continual run": ContinualConfig,
    }
    parts = ["# Configuration", "Made from the models that check every value."]
    for title, model in models.items():
        first = (model.__doc__ or "").strip().splitlines()[0]
        parts += [f"## {title}", f"`{model.__name__}`: {first}", _fields(model)]
    parts += ["## Methods", _options(METHODS, options_of), "## Streams"]
    parts += [_options(STREAMS, stream_options)]
    return "\n\n".join(parts)


def _fields(model: type[BaseModel]) -> str:
    rows = []
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "required" if default is PydanticUndefined else f"`{default}`"
        rows.append(
            (f"`{name}`", f"`{type_name(field.annotation)}`", shown, field.description or "")
        )
    return table(("option", "type", "default", "meaning"), rows)


def type_name(annotation: Any) -> str:
    """Return an annotation as one would write it, without what checks its values."""
    kind, parts = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return type_name(parts[0])
    if kind in (Union, UnionType):
        return " | ".join(map(type_name, parts))
    if kind is Literal:
        return " | ".join(map(repr, parts))
    if kind is not None:
        return f"{kind.__name__}[{', '.join(map(type_name, parts))}]"
    special = {type(None): "None", Ellipsis: "...", Any: "Any"}
    return special.get(annotation) or annotation.__name__


def _options(names: Mapping[str, Any], options_of: Any) -> str:
    rows = []
    for name in names:
        options = options_of(name)
        shown = ", ".join(f"`{name}.{key}` = `{value}`" for key, value in options.items())
        rows.append((f"`{name}`", shown))
    return table(("name", "options and defaults"), rows)


def store() -> str:
    """Return the tables of a store that was just made."""
    from sffa.study import Store

    parts = ["# The store", "As it is made; [what the columns mean](../results-store.md)."]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.sqlite"
        with Store(path):
            pass
        with sqlite3.connect(path) as file:
            query = (
                "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name"
            )
            for name, sql in file.execute(query):
                parts.append(f"## `{name}`\n\n```sql\n{sql}\n```")
        file.close()
    return "\n\n".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
