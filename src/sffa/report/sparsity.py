"""The Hoyer table of the paper's appendix C, from static records."""

from __future__ import annotations

from collections.abc import Sequence

from sffa.record import number
from sffa.report.cells import Cell
from sffa.report.sections import Section, TextTable
from sffa.report.tables import NONE
from sffa.study.paper import published_hoyer
from sffa.study.statistics import Summary, summarise
from sffa.vocabulary import name_of

_SIGNS = ("positive", "negative")


def sparsity_section(shown: Sequence[Cell]) -> Section | None:
    """Return how sparse the latents of static networks are, if their records tell."""
    rows = []
    for cell in shown:
        found = {sign: _hoyer(cell, sign) for sign in _SIGNS}
        paper = published_hoyer(cell.dataset, cell.algorithm)
        told = [_text(found[sign], paper.get(sign)) for sign in _SIGNS]
        if any(found.values()):
            seeds = str(max(each.count for each in found.values() if each))
            names = [name_of(cell.dataset), name_of(cell.algorithm), cell.method or NONE]
            rows.append([*names, seeds, *told])
    if not rows:
        return None
    about = (
        "Mean over the latents of all layers on test images, shown with their label and with a "
        "wrong one, after the last epoch; mean ± standard error over seeds, and in parentheses the "
        "paper's. One is a single active neuron, zero is all of them alike."
    )
    titles = ["Dataset", "Algorithm", "Negatives", "Seeds", "Right label", "Wrong label"]
    return Section("Sparsity: Hoyer scores", [about, TextTable(titles, rows)])


def _hoyer(cell: Cell, sign: str) -> Summary | None:
    told = (run.details.get("hoyer") for run in cell.runs)
    values = (number(scores.get(sign)) for scores in told if isinstance(scores, dict))
    return summarise([value for value in values if value is not None])


def _text(ours: Summary | None, paper: float | None) -> str:
    if ours is None:
        return NONE
    text = f"{ours.mean:.3f}" + ("" if ours.sem is None else f" ± {ours.sem:.3f}")
    return text + ("" if paper is None else f" ({paper:.3f})")
