"""The page: one HTML file with everything in it, which asks for nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from sffa._version import __version__
from sffa.files import write_text
from sffa.record import Record
from sffa.report import figures as draw
from sffa.report.cells import Cell, cells, ordered
from sffa.report.drawing import Drawing
from sffa.report.page_data import page_data
from sffa.report.summary import overview
from sffa.report.svg import inline
from sffa.report.tables import continual_table, static_table


@dataclass(frozen=True)
class Figure:
    """A drawing as the template takes it: trusted vector, untrusted words, data as a link."""

    name: str
    title: str
    caption: str
    svg: str
    data: str


def write(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    *,
    figures: Sequence[Drawing] = (),
    title: str = "SFFA results",
    note: str = "",
    theory: bool = True,
) -> Path:
    """Write the report of some records, static and continual alike, and return its path.

    Parameters
    ----------
    path
        The HTML file to write.
    records
        Records of runs, as `sffa.study.gather` reads them; none is fine and said so.
    figures
        Drawings to show besides those made from the records, such as ``figures.sparsity(...)``.
    title, note
        The heading, and a paragraph under it.
    theory
        Whether to include the figures that need no record: diagram, surfaces, updates.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> path = write("report.html", [record], theory=False)
    >>> path.name
    'report.html'
    """
    target = Path(path)
    html = render(records, figures=figures, title=title, note=note, theory=theory)
    write_text(target, html)
    return target


def render(
    records: Iterable[Record],
    *,
    figures: Sequence[Drawing] = (),
    title: str = "SFFA results",
    note: str = "",
    theory: bool = True,
    made: datetime | None = None,
) -> str:
    """Return the report as HTML.

    >>> from sffa.continual import ContinualConfig, run
    >>> from sffa.data import load
    >>> config = ContinualConfig(dataset="digits", algorithm="bp", hidden=(20,), epochs=1)
    >>> record = run(config, load("digits")).record()
    >>> page = render([record], theory=False)
    >>> page.lstrip()[:15], "https://" in page.split("<body")[0]
    ('<!doctype html>', False)
    """
    runs = ordered(records)
    groups = cells(runs)
    static, continual = static_table(groups), continual_table(groups)
    sections = {
        "static": _figures([*_some(draw.accuracy_bars(groups)), *draw.learning_curves(groups)]),
        "continual": _figures(_of_streams(groups)),
        "networks": _figures(figures),
        "theory": _figures(_theory() if theory else []),
    }
    html: str = _template().render(
        title=title,
        note=note,
        made=(made or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
        overview=overview(runs, groups),
        tables={"static": static, "continual": continual},
        sections=sections,
        runs=page_data(runs),
        count=len(runs),
        **_assets(),
    )
    return html


def _of_streams(groups: Sequence[Cell]) -> list[Drawing]:
    along = [*draw.streams(groups), *draw.within(groups), *draw.costs(groups)]
    return [*_some(draw.agreement(groups)), *along]


def _theory() -> list[Drawing]:
    return [draw.models(), draw.surfaces(), draw.dynamics()]


def _some(drawing: Drawing | None) -> list[Drawing]:
    return [] if drawing is None else [drawing]


def _figures(drawings: Iterable[Drawing]) -> list[Figure]:
    """Make figures for the template, each under another name."""
    taken: set[str] = set()
    found = []
    for number, drawing in enumerate(drawings):
        slug = "".join(c if c.isalnum() else "-" for c in drawing.name) or "figure"
        name = slug if slug not in taken else f"{slug}-{number}"
        taken.add(name)
        encoded = base64.b64encode(drawing.csv.encode()).decode()
        data = f"data:text/csv;charset=utf-8;base64,{encoded}" if drawing.csv else ""
        svg = inline(drawing.svg, name)
        found.append(Figure(name, drawing.title, drawing.caption, svg, data))
    return found


def _assets() -> dict[str, str]:
    """Return style, script, and the policy that lets only these run."""
    folder = resources.files("sffa.report").joinpath("templates")
    style = folder.joinpath("report.css").read_text(encoding="utf-8")
    script = folder.joinpath("report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return {"style": style, "script": script, "policy": policy}


def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("sffa.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")
