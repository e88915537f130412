"""A drawing: a figure as vector and pixels, with the data it was drawn from beside it."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from sffa.errors import DataError
from sffa.files import replacing, write_text
from sffa.report.style import DOLLAR, SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Drawing:
    r"""A finished figure: ``svg`` text, ``csv`` text of its data, and words for those who read.

    ``figure`` is what the pixels are made from; one that was read back from a folder has none.

    >>> drawing = Drawing("one", "One", "A line.", "<svg/>", "x,y\n0,1\n")
    >>> drawing.name, drawing.figure
    ('one', None)
    """

    name: str
    title: str
    caption: str
    svg: str
    csv: str
    figure: Figure | None = field(default=None, repr=False, compare=False)

    def png(self, dpi: int = 200) -> bytes:
        """Draw the pixels, on white paper."""
        return self._drawn(format="png", dpi=dpi, facecolor="white")

    def pdf(self) -> bytes:
        """Draw the page that LaTeX includes; the same figure gives the same bytes."""
        nothing = dict.fromkeys(("CreationDate", "Creator", "Producer"))
        return self._drawn(format="pdf", metadata=nothing)

    def _drawn(self, **options: Any) -> bytes:
        if self.figure is None:
            raise DataError(f"the drawing '{self.name}' was read from a file: only its vector is")
        import matplotlib as mpl

        stream = io.BytesIO()
        with mpl.rc_context(SETTINGS), _any_letter():
            self.figure.savefig(stream, **options)
        return stream.getvalue()

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write ``name.svg``, ``name.png``, ``name.pdf`` and, where there is data, ``name.csv``."""
        kinds = ("svg", "png", "pdf", "csv")
        svg, png, pdf, csv = (Path(folder) / f"{self.name}.{kind}" for kind in kinds)
        write_text(svg, self.svg)
        for path, draw in ((png, self.png), (pdf, self.pdf)):
            with replacing(path) as temporary:
                temporary.write_bytes(draw())
        if not self.csv:
            return [svg, png, pdf]
        write_text(csv, self.csv)
        return [svg, png, pdf, csv]


def file_stem(name: str) -> str:
    """Return a name that is one plain file name, whatever a record put into it.

    >>> file_stem("streams-../../x")
    'streams-------x'
    """
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
    return plain.encode()[:150].decode(errors="ignore") or "figure"


def finish(name: str, title: str, caption: str, figure: Figure, rows: Rows) -> Drawing:
    """Make a drawing of a figure; call it within the style the figure was drawn in."""
    import matplotlib as mpl

    name = file_stem(name)
    title, caption = title.replace(DOLLAR, "$"), caption.replace(DOLLAR, "$")
    stream = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": name}), _any_letter():
        layout = figure.get_layout_engine()
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine("none")
        figure.savefig(stream, format="svg", metadata=nothing)
    svg = _with_words(stream.getvalue(), title, caption)
    return Drawing(name, title, caption, svg, table(rows), figure)


@contextlib.contextmanager
def _any_letter() -> Iterator[None]:
    """Draw a box, silently, for a letter that the font lacks: names are the user's."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def table(rows: Rows) -> str:
    """Write rows as CSV; the columns are those of the first row, numbers with six digits.

    >>> table([{"x": 1, "y": 1 / 3}]).splitlines()
    ['x,y', '1,0.333333']
    """
    stream = io.StringIO()
    if rows:
        writer = csv.writer(stream, lineterminator="\n")
        names = list(rows[0])
        writer.writerow(names)
        writer.writerows([_plain(row.get(name)) for name in names] for row in rows)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    return f"{float(value):.6g}" if isinstance(value, float) else value


def _with_words(svg: str, title: str, caption: str) -> str:
    """Put title and description where a screen reader looks for them."""
    start = svg.index("<svg")
    end = svg.index(">", start) + 1
    words = f"\n <title>{escape(title)}</title>\n <desc>{escape(caption)}</desc>"
    return svg[:end] + words + svg[end:]
