"""What the source promises of itself: no cycles, short functions, plain docstrings, private names.

Each check is a function from a folder to a list of offenders; the tests hold the package to an
empty list, and small made-up trees show that each check does find what it looks for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"
PACKAGE = "sffa"
LONGEST = 60
OPENINGS = ("Give ", "Tell ")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def modules(source: Path) -> dict[str, Path]:
    """Return the file of every module under ``source``, a package by its own name."""
    found = {}
    for path in python_files(source):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def live_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through everything that can run: all but what only a type checker sees."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            for other in child.orelse:
                yield from live_nodes(other)
        else:
            yield from live_nodes(child)


def is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports_of(name: str, files: Mapping[str, Path]) -> dict[str, int]:
    """Return the modules among ``files`` that a module imports anywhere in it, with the line.

    ``from package import name`` is an import of ``package.name`` where that is a module, else of
    ``package``. A package that comes along because a module of it is imported is not counted:
    nearly every module would depend on the package it is in.
    """
    found: dict[str, int] = {}
    is_package = files[name].name == "__init__.py"
    for node in live_nodes(tree(files[name])):
        wanted: list[str] = []
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, name, is_package)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            wanted = [one if one in files else base for one in inner]
        for one in wanted:
            if one in files and one != name:
                found.setdefault(one, node.lineno)  # type: ignore[attr-defined]
    return found


def absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - node.level + (1 if is_package else 0)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def import_cycles(source: Path) -> list[str]:
    """Return the groups of modules that need one another, each with a shortest way round."""
    files = modules(source)
    graph = {name: set(imports_of(name, files)) for name in files}
    return [way_round(group, graph, files) for group in tangles(graph)]


def tangles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules in which each reaches every other, the largest first."""
    reached = {name: reach(name, graph) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return sorted(map(list, groups), key=lambda group: (-len(group), group))


def reach(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph[name])
    return seen


def way_round(group: list[str], graph: Mapping[str, set[str]], files: Mapping[str, Path]) -> str:
    """Describe a shortest cycle in a tangled group, and name the rest of the group."""
    shortest = min((cycle_through(name, graph) for name in group), key=len)
    steps = [
        f"{one}:{imports_of(one, files)[other]} -> {other}"
        for one, other in zip(shortest, [*shortest[1:], shortest[0]], strict=True)
    ]
    rest = sorted(set(group) - set(shortest))
    return ", ".join(steps) + (f" (tangled with {', '.join(rest)})" if rest else "")


def cycle_through(start: str, graph: Mapping[str, set[str]]) -> list[str]:
    before: dict[str, str] = {}
    level = [start]
    while level:
        coming = []
        for name in level:
            for other in sorted(graph[name]):
                if other == start:
                    path = [name]
                    while path[-1] != start:
                        path.append(before[path[-1]])
                    return path[::-1]
                if other not in before:
                    before[other] = name
                    coming.append(other)
        level = coming
    raise AssertionError(f"{start} is in no cycle")


def long_functions(source: Path, longest: int = LONGEST) -> list[str]:
    """Return the functions of more than ``longest`` lines, decorators and docstring included."""
    found = []
    for path in python_files(source):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                lines = (node.end_lineno or first) - first + 1
                if lines > longest:
                    found.append((lines, f"{path.relative_to(source)}:{first} {node.name}"))
    return [f"{where}: {lines} lines" for lines, where in sorted(found, reverse=True)]


def wooden_docstrings(source: Path) -> list[str]:
    """Return the docstrings that begin with a word of `OPENINGS`."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [
        f"{path.relative_to(source)}:{getattr(node, 'lineno', 1)} {text.splitlines()[0]}"
        for path in python_files(source)
        for node in ast.walk(tree(path))
        if isinstance(node, kinds) and (text := ast.get_docstring(node) or "").startswith(OPENINGS)
    ]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def private_names(source: Path) -> set[str]:
    """Return every private name that the source defines: functions, classes, values, attributes."""
    found: set[str] = set()
    for path in python_files(source):
        if is_private(path.stem):
            found.add(path.stem)
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return {name for name in found if is_private(name)}


def private_uses(tests: Path, source: Path) -> list[str]:
    """Return where tests use a private name of the source: imported, as attribute or in a string.

    What a test's own class calls ``self._name`` is the test's own.
    """
    private = private_names(source)
    found = []
    for path in python_files(tests):
        for node in ast.walk(tree(path)):
            found += [
                f"{path.relative_to(tests)}:{node.lineno} {used}"  # type: ignore[attr-defined]
                for used in uses(node, private)
            ]
    return found


def uses(node: ast.AST, private: set[str]) -> list[str]:
    """Return the private names of the source that one node uses."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
        modules_ = [part for part in (node.module or "").split(".") if is_private(part)]
        return modules_ + [alias.name for alias in node.names if is_private(alias.name)]
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE]
        return [name for name in named if any(map(is_private, name.split(".")))]
    if isinstance(node, ast.Attribute) and node.attr in private:
        mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        return [] if mine else [ast.unparse(node)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value] if re.fullmatch(rf"{PACKAGE}(\.\w+)*\._[a-zA-Z]\w*", node.value) else []
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func).split(".")[-1]
        if called in ("getattr", "setattr", "delattr", "hasattr", "object") and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and name.value in private:
                return [ast.unparse(node)]
    return []


def imports_of_the_command_line(source: Path) -> list[str]:
    """Return what imports the command line from outside it, ``__main__`` excepted."""
    files = modules(source)
    inside = f"{PACKAGE}.cli"
    return [
        f"{name}:{line} imports {other}"
        for name in files
        if not (name == inside or name.startswith(f"{inside}.") or name == f"{PACKAGE}.__main__")
        for other, line in imports_of(name, files).items()
        if other == inside or other.startswith(f"{inside}.")
    ]


def listed(offenders: list[str]) -> str:
    return "\n".join([f"{len(offenders)} found:", *offenders])


def test_no_modules_import_one_another_in_a_circle() -> None:
    found = import_cycles(SOURCE)
    assert not found, listed(found)


def test_no_function_is_longer_than_a_screen() -> None:
    found = long_functions(SOURCE)
    assert not found, listed(found)


def test_docstrings_return_and_do_not_give_or_tell() -> None:
    found = wooden_docstrings(SOURCE)
    assert not found, listed(found)


def test_tests_use_no_private_name_of_the_package() -> None:
    found = private_uses(TESTS, SOURCE)
    assert not found, listed(found)


def test_only_the_command_line_imports_the_command_line() -> None:
    found = imports_of_the_command_line(SOURCE)
    assert not found, listed(found)


def planted(folder: Path, **files: str) -> Path:
    """Write a tree of modules of `PACKAGE`; ``a__b`` stands for ``a/b.py``."""
    for name, text in files.items():
        path = folder.joinpath(PACKAGE, *name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / PACKAGE / "__init__.py").touch()
    return folder


def test_a_cycle_is_found_also_through_lazy_and_relative_imports(tmp_path: Path) -> None:
    source = planted(
        tmp_path,
        one="from sffa.two import x",
        two="def f():\n    from . import three",
        three="import sffa.one",
        four="from sffa import one",
    )
    assert import_cycles(source) == [
        "sffa.one:1 -> sffa.two, sffa.two:2 -> sffa.three, sffa.three:1 -> sffa.one"
    ]


def test_a_package_and_its_module_may_form_a_cycle_too(tmp_path: Path) -> None:
    source = planted(tmp_path, room__x="from sffa.room import y")
    (source / PACKAGE / "room" / "__init__.py").write_text("from sffa.room.x import z\ny = 1")
    assert import_cycles(source) == ["sffa.room:1 -> sffa.room.x, sffa.room.x:1 -> sffa.room"]


def test_what_only_a_type_checker_sees_makes_no_cycle(tmp_path: Path) -> None:
    checked = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sffa.two import x"
    assert import_cycles(planted(tmp_path, one=checked, two="import sffa.one")) == []
    live = f"{checked}\nelse:\n    import sffa.two"
    assert len(import_cycles(planted(tmp_path / "b", one=live, two="import sffa.one"))) == 1


def test_a_long_function_is_found_and_a_short_one_is_not(tmp_path: Path) -> None:
    body = "\n    x = 1"
    source = planted(
        tmp_path, a=f"def short():{body * 59}\n\n\nclass C:\n  @d\n  def long(self):{body * 59}"
    )
    assert long_functions(source) == ["sffa/a.py:64 long: 61 lines"]


def test_a_wooden_docstring_is_found(tmp_path: Path) -> None:
    source = planted(
        tmp_path, a='"""Tell all.\n\nMore."""\ndef f():\n    """Given x."""\n    "Give y."'
    )
    assert wooden_docstrings(source) == ["sffa/a.py:1 Tell all."]


def test_private_names_are_found_however_they_are_reached(tmp_path: Path) -> None:
    source = planted(
        tmp_path / "src",
        a="_f = 1\nclass C:\n    def __init__(self):\n        self._kept = 2",
        _hidden="",
    )
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(
        "from sffa.a import C, _f\n"
        "import sffa._hidden\n"
        "C()._kept\n"
        "patch('sffa.a._f', 1)\n"
        "monkeypatch.setattr(c, '_kept', 3)\n"
        "torch._other, c.kept, C.__name__, '_kept'\n"
        "class Mine:\n    def f(self):\n        return self._kept\n"
    )
    assert [found.split(" ")[0] for found in private_uses(tests, source)] == [
        f"test_a.py:{line}" for line in (1, 2, 3, 5, 4)
    ]


def test_an_import_of_the_command_line_is_found(tmp_path: Path) -> None:
    source = planted(
        tmp_path,
        cli__app="from sffa.cli import other",
        cli__other="",
        core="def f():\n    from sffa.cli.app import x",
    )
    (source / PACKAGE / "__main__.py").write_text("from sffa.cli import main")
    assert imports_of_the_command_line(source) == ["sffa.core:2 imports sffa.cli.app"]
