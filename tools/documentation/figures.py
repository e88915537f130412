"""Draw the figures that pages and README show: ``python tools/documentation/figures.py``.

They are kept in ``docs/figures``; on white paper, as a README has no theme to follow.
"""

from __future__ import annotations

from pathlib import Path

from sffa.files import write_text
from sffa.report import network_report
from sffa.report.figures import models

FOLDER = Path("docs/figures")


def main() -> None:
    """Write the SVGs."""
    drawings = [models(), *network_report.surfaces()[0], *network_report.dynamics()[0]]
    for drawing in drawings:
        svg = drawing.svg.replace("<svg ", '<svg style="background:#fff" ', 1)
        write_text(FOLDER / f"{drawing.name}.svg", svg)


if __name__ == "__main__":
    main()
