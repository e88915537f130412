"""The one style of all figures: readable in print, and for colour-blind readers.

Colours are those of Okabe and Ito, and never the only sign: lines differ in marker and dash too.
Ink and paper are two fixed colours, which the page replaces by those of its theme.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

# How matplotlib is told that a dollar is a dollar and no formula begins.
DOLLAR = r"\$"
INK = "#1b1f24"
PAPER = "#fdfdfe"

BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, GREY = "#56b4e9", "#cc79a7", "#7f868f"
# Colours that the page makes lighter where it is dark.
THEMED = {BLUE: "--blue", VERMILION: "--vermilion", GREEN: "--green"}
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
SEQUENTIAL = "cividis"

ALGORITHMS = {"bp": GREEN, "ffa": VERMILION, "sffa": BLUE, "sffa-gated": SKY}
NAMES = {
    "bp": "Back-propagation",
    "ffa": "FFA",
    "sffa": "SFFA",
    "sffa-gated": "SFFA, gated",
    "naive": "Naive",
    "ewc": "EWC",
    "si": "SI",
    "mas": "MAS",
    "replay": "Replay",
    "gem": "GEM",
    "class": "Class IL",
    "domain": "Domain IL",
    "task": "Task IL",
    "static": "Static",
    "mnist": "MNIST",
    "fmnist": "Fashion-MNIST",
    "kmnist": "KMNIST",
    "kmnist-reduced": "KMNIST (reduced)",
    "emnist-letters": "EMNIST Letters",
    "digits": "Digits (8×8)",
    "cifar10": "CIFAR-10",
    "split-mnist": "Split-MNIST",
    "split-fmnist": "Split-FMNIST",
    "split-kmnist": "Split-KMNIST",
    "split-digits": "Split-Digits",
}
SIGNS = {"positive": BLUE, "negative": VERMILION}
METHODS: dict[str, dict[str, Any]] = {
    "naive": {"color": INK, "marker": "x", "linestyle": (0, (1, 1.5))},
    "ewc": {"color": ORANGE, "marker": "s", "linestyle": (0, (5, 1.5))},
    "si": {"color": SKY, "marker": "^", "linestyle": (0, (4, 1.5, 1, 1.5))},
    "mas": {"color": GREEN, "marker": "v", "linestyle": (0, (2.5, 1.2))},
    "replay": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "gem": {"color": PURPLE, "marker": "D", "linestyle": "-"},
}

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


def name_of(key: str) -> str:
    """Return the name a reader knows a thing by.

    >>> name_of("ffa"), name_of("my-strategy")
    ('FFA', 'my-strategy')
    """
    return NAMES.get(key, key)


def short_name(key: str, longest: int = 26) -> str:
    """Return the name as it fits into a figure, whose room a made-up name must not use up.

    >>> short_name("a-dataset-with-a-very-long-name", 12)
    'a-dataset-w…'
    """
    name = " ".join(name_of(key).split())
    name = name if len(name) <= longest else f"{name[: longest - 1]}…"
    return name.replace("$", DOLLAR)


def colour_of(algorithm: str) -> str:
    """Return an algorithm's colour; unknown ones get one by their name, always the same."""
    if algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm]
    spare = (PURPLE, ORANGE, GREY)
    return spare[sum(algorithm.encode()) % len(spare)]


def line_of(method: str) -> dict[str, Any]:
    """Return a method's colour, marker and dash."""
    return METHODS.get(method, {"color": GREY, "marker": "P", "linestyle": "--"})
