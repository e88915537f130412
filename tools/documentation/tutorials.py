"""Tutorials: scripts that are run when the site is built, shown as pages, offered as notebooks.

A script is in jupytext's percent format. Each runs in a kernel and a folder of its own; one that
raises fails the build. What ran before is kept by the digest of the script and of the package.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

CACHE = Path(".cache/tutorials")
_AT_ONCE = 2
_SECONDS = 1800  # a cell takes seconds, unless the machine is busy with something else
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Run the tutorials and add a page, a notebook and the files they made for each."""
    scripts = sorted((Path(config["docs_dir"]) / "tutorials").glob("*.py"))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        done = list(pool.map(run, scripts))
    for script, folder in zip(scripts, done, strict=True):
        notebook = nbformat.read(folder / "notebook.ipynb", as_version=4)
        place = f"tutorials/{script.stem}"
        files.append(File.generated(config, f"{place}.md", content=page(notebook, script.stem)))
        for made, name in [(folder / "notebook.ipynb", f"{place}.ipynb")] + [
            (path, f"{place}/{path.name}") for path in sorted(folder.glob("*.html"))
        ]:
            files.append(File.generated(config, name, abs_src_path=str(made.absolute())))
    return files


def run(script: Path) -> Path:
    """Run a script unless it has run as it is, and return the folder of what it made."""
    folder = CACHE / f"{script.stem}-{_digest(script)}"
    if (folder / "notebook.ipynb").is_file():
        return folder
    notebook = jupytext.read(script)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        client = NotebookClient(
            notebook,
            coalesce_streams=True,
            timeout=_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": place}},
            startup_timeout=_SECONDS,
            extra_arguments=["--InlineBackend.figure_formats={'svg'}", "--log-level=ERROR"],
        )
        try:
            client.execute(env=_environment(work))
        except CellExecutionError as error:
            raise PluginError(f"tutorial {script.name}: {_COLOUR.sub('', str(error))}") from None
        for former in CACHE.glob(f"{script.stem}-*"):
            shutil.rmtree(former)
        folder.mkdir(parents=True)
        for made in work.glob("*.html"):
            (folder / made.name).write_bytes(made.read_bytes())
    nbformat.write(notebook, folder / "notebook.ipynb")
    return folder


def _digest(script: Path) -> str:
    found = hashlib.sha256(script.read_bytes())
    for path in sorted(Path("src/sffa").rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _environment(folder: Path) -> dict[str, str]:
    """Return the kernel's variables: the package at hand, and the style of all figures."""
    from sffa.report.style import SETTINGS

    lines = [f"{name}: {str(value).lstrip('#')}\n" for name, value in SETTINGS.items()]
    style = folder / "matplotlibrc"
    style.write_text("".join(lines), encoding="utf-8")
    return {
        **os.environ,
        "PATH": _before("PATH", Path(sys.executable).parent),
        "PYTHONPATH": _before("PYTHONPATH", Path("src")),
        "MATPLOTLIBRC": str(style),
        "COLUMNS": "150",
        "OMP_NUM_THREADS": "1",  # kernels run side by side
    }


def _before(variable: str, folder: Path) -> str:
    """Return a variable of folders with one more in front."""
    return os.pathsep.join(filter(None, (str(folder.absolute()), os.environ.get(variable))))


def page(notebook: Any, name: str) -> str:
    """Return the notebook as Markdown."""
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        language, source = _language(cell.source)
        parts.append(f"```{language}\n{source}\n```")
        shown = [each for each in cell.outputs if language == "python" or not _progress(each)]
        parts += [_shown(output, f"cell{number}") for output in shown]
    title, rest = "\n\n".join(parts).split("\n", 1)
    note = (
        f"[Notebook]({name}.ipynb){{ .md-button download }} "
        "Run when this page was built; what stands below the code is what it printed."
    )
    return f"{title}\n\n{note}\n\n{rest}"


def _progress(output: Any) -> bool:
    """Whether it is what a command that went well wrote beside its output: bars, notes."""
    return bool(output.get("name") == "stderr")


def _language(source: str) -> tuple[str, str]:
    """Return the language of a cell and its text, without the magic that names it."""
    if source.startswith("%%bash\n"):
        return "sh", source.removeprefix("%%bash\n")
    return "python", source


def _shown(output: Any, prefix: str) -> str:
    from sffa.report.svg import inline

    if output.output_type == "stream":
        return _text(output.text)
    if output.output_type == "error":
        return _text("\n".join(output.traceback))
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return f'<div class="drawing">{_one_line(inline(data["image/svg+xml"], prefix))}</div>'
    return _text(data.get("text/plain", ""))


def _one_line(svg: str) -> str:
    return re.sub(r"\s*\n\s*", " ", svg)


def _text(text: str) -> str:
    plain = html.escape(_COLOUR.sub("", text).rstrip())
    return f'<div class="output"><pre>{plain}</pre></div>'
