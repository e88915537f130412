"""The one style of all figures: readable in print, and for colour-blind readers.

Ink and paper are two fixed colours, which the page replaces by those of its theme.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from sffa.vocabulary import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    algorithm_term,
    method_term,
    name_of,
)

# How matplotlib is told that a dollar is a dollar and no formula begins.
DOLLAR = r"\$"
PAPER = "#fdfdfe"

# Colours that the page makes lighter where it is dark.
THEMED = {BLUE: "--blue", VERMILION: "--vermilion", GREEN: "--green"}
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
SEQUENTIAL = "cividis"

SIGNS = {"positive": BLUE, "negative": VERMILION}

SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "axes.grid": True,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.0,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "image.cmap": SEQUENTIAL,
    "svg.fonttype": "path",
    "savefig.facecolor": "none",
}


def styled() -> AbstractContextManager[None]:
    """Put the style on whatever is drawn within."""
    import matplotlib as mpl

    return mpl.rc_context(SETTINGS)


def short_name(key: str, longest: int = 26) -> str:
    """Return the name as it fits into a figure, where a made-up name must not take all the space.

    >>> short_name("a-dataset-with-a-very-long-name", 12)
    'a-dataset-w…'
    """
    name = " ".join(name_of(key).split())
    name = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return name.replace("$", DOLLAR)


def colour_of(algorithm: str) -> str:
    """Return an algorithm's colour."""
    return algorithm_term(algorithm).colour


def line_of(method: str) -> dict[str, Any]:
    """Return a method's colour, marker and dash."""
    term = method_term(method)
    return {"color": term.colour, "marker": term.mark, "linestyle": term.dash}
