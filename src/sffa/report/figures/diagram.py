"""The diagram of the three ways to learn: back-propagation, FFA and SFFA (the paper's figure 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sffa.report.drawing import Drawing, finish
from sffa.report.style import PAPER, styled
from sffa.vocabulary import BLUE, INK, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = {"input": 0.6, "first": 2.2, "second": 3.9, "top": 5.45}


def models() -> Drawing:
    """Draw what flows up, what flows back, and what each layer is told."""
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(figsize=(7.2, 4.6))
        axes = figure.subplots(1, 3, width_ratios=(0.8, 1.15, 1.2))
        for panel, title in zip(axes, ("Back-propagation", "FFA", "SFFA"), strict=True):
            panel.set(title=title, xlim=(0, 5), ylim=(0.1, 5.95))
            panel.axis("off")
        axes[0].set_xlim(0.3, 4.1)
        axes[1].set_xlim(0.3, 5.9)
        axes[2].set_xlim(-0.1, 5.9)
        _backprop(axes[0])
        _ffa(axes[1])
        _sffa(axes[2])
        _key(figure)
        return finish(
            "models",
            "Back-propagation, FFA and SFFA",
            "Forward paths in ink, learning signals dashed. Back-propagation sends one error down "
            "through all layers. FFA shows the input with a right or a wrong label and asks each "
            "layer for much or little energy. SFFA splits each layer: positive neurons answer to "
            "right labels, negative ones to wrong labels, k winners in each half, and the "
            "goodness is the positive share of the energy.",
            figure,
            [],
        )


def _backprop(axes: Axes) -> None:
    _box(axes, 2.2, LEVELS["input"], 2.8, "image")
    for level in ("first", "second"):
        _neurons(axes, 2.2, LEVELS[level], 5, INK)
    _box(axes, 2.2, LEVELS["top"], 2.8, "classes, error")
    for low, high in (("input", "first"), ("first", "second"), ("second", "top")):
        x = 2.2 if low == "input" else 1.7
        _arrow(axes, (x, LEVELS[low] + 0.36), (x, LEVELS[high] - 0.36))
        if low != "input":
            _arrow(axes, (2.7, LEVELS[high] - 0.36), (2.7, LEVELS[low] + 0.36), BLUE)


def _ffa(axes: Axes) -> None:
    _box(axes, 2.2, LEVELS["input"], 3.4, "image + label")
    for level in ("first", "second"):
        _neurons(axes, 2.2, LEVELS[level], 5, INK)
        _signal(axes, 3.66, LEVELS[level], "σ(‖h‖² − θ)")
    _arrow(axes, (2.2, LEVELS["input"] + 0.36), (2.2, LEVELS["first"] - 0.36))
    _arrow(axes, (2.2, LEVELS["first"] + 0.36), (2.2, LEVELS["second"] - 0.36), note="normalise")
    _words(axes, 2.2, LEVELS["top"], "right label: more energy\nwrong label: less")


def _sffa(axes: Axes) -> None:
    _box(axes, 2.2, LEVELS["input"], 3.4, "image + label")
    for level in ("first", "second"):
        _neurons(axes, 1.1, LEVELS[level], 3, BLUE, sign="+")
        _neurons(axes, 3.3, LEVELS[level], 3, VERMILION, sign="−")
        _signal(axes, 4.24, LEVELS[level], r"$\dfrac{E}{E+I}$")
    for x in (1.1, 3.3):
        start = (2.2 + (x - 2.2) * 0.6, LEVELS["input"] + 0.36)
        _arrow(axes, start, (x, LEVELS["first"] - 0.36))
        _arrow(axes, (x, LEVELS["first"] + 0.36), (x, LEVELS["second"] - 0.36))
    _words(axes, 2.2, 3.05, "normalise\neach half")
    _words(axes, 1.1, 4.55, "E: k winners", BLUE)
    _words(axes, 3.3, 4.55, "I: k winners", VERMILION)
    _words(axes, 2.2, LEVELS["top"], "right label: share of E up\nwrong label: share of I up")


def _words(axes: Axes, x: float, y: float, text: str, colour: str = INK) -> None:
    axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=colour)


def _box(axes: Axes, x: float, y: float, width: float, text: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - width / 2, y - 0.28)
    style = "round,pad=0.02,rounding_size=0.12"
    box = FancyBboxPatch(corner, width, 0.56, boxstyle=style, facecolor=PAPER, edgecolor=INK)
    axes.add_patch(box)
    axes.text(x, y, text, ha="center", va="center", fontsize=8)


def _neurons(axes: Axes, x: float, y: float, count: int, colour: str, sign: str = "") -> None:
    from matplotlib.patches import FancyBboxPatch

    width = 0.52 * count + 0.2
    corner = (x - width / 2, y - 0.28)
    style = "round,pad=0.02,rounding_size=0.12"
    axes.add_patch(
        FancyBboxPatch(corner, width, 0.56, boxstyle=style, facecolor=PAPER, edgecolor=colour)
    )
    xs = [x + 0.52 * (n - (count - 1) / 2) for n in range(count)]
    for fill in ({"color": colour, "alpha": 0.25}, {"color": colour, "markerfacecolor": "none"}):
        look: dict[str, Any] = {"marker": "o", "markersize": 8.5, "linestyle": "none", **fill}
        axes.plot(xs, [y] * count, **look)
    for place in xs if sign else []:
        axes.text(place, y - 0.01, sign, ha="center", va="center_baseline", fontsize=7)


def _signal(axes: Axes, x: float, y: float, text: str) -> None:
    """Draw the goodness of the layer that ends at ``x``, from which that layer alone learns."""
    wide = text.startswith("$")
    far = x + (0.55 if wide else 0.5)
    _arrow(axes, (x, y + 0.13), (far, y + 0.13))
    _arrow(axes, (far, y - 0.13), (x, y - 0.13), BLUE)
    axes.text(far + 0.12, y, text, ha="left", va="center", fontsize=10 if wide else 8)


def _arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str = INK,
    note: str = "",
) -> None:
    dash = "--" if colour == BLUE else "-"
    arrow = {
        "arrowstyle": "-|>",
        "color": colour,
        "linestyle": dash,
        "linewidth": 1.2,
        "shrinkA": 0,
        "shrinkB": 0,
        "mutation_scale": 10,
    }
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow)
    if note:
        middle = (start[1] + end[1]) / 2
        axes.text(start[0] + 0.18, middle, note, ha="left", va="center", fontsize=7)


def _key(figure: object) -> None:
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    assert isinstance(figure, Figure)
    lines = [
        Line2D([], [], color=INK, label="forward"),
        Line2D([], [], color=BLUE, linestyle="--", label="learning signal"),
    ]
    figure.legend(handles=lines, loc="outside lower center", ncols=2)
