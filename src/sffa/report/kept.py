"""What a method keeps of the past, beside what it reaches: accuracy against megabytes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sffa.record import Record, number
from sffa.report.cells import Cell
from sffa.report.sections import Section, TextTable
from sffa.report.tables import NONE, corrected, summary_text
from sffa.report.variants import written
from sffa.study.statistics import Summary, paired
from sffa.vocabulary import DATASETS, name_of, rank_of

CLOSED = ("ridge", "slda")
BOUND = "joint"  # keeps every example: what the others are measured by, not one of them
_COMPARED = ("gaussian", "replay")
_BESIDE = (*_COMPARED, "naive")


@dataclass(frozen=True)
class Kept:
    """One cell of a stream, with the ``megabytes`` that its method keeps; means over its seeds.

    Of a learner in closed form it is the learner that is kept; ``seconds`` are those of the fastest
    seed by the clock, as others may have shared their core.
    """

    cell: Cell
    accuracy: Summary
    forgetting: Summary | None
    megabytes: float
    seconds: float


def kept(cells: Sequence[Cell]) -> list[Kept]:
    """Return the cells of the study `remember`, those of a dataset together, the best first.

    It shares cells with the paper's study, so without a cell of `gaussian` there are none.
    """
    found = _of_study(cells, "remember")
    return sorted(found, key=lambda e: (rank_of(DATASETS, e.cell.dataset), -e.accuracy.mean))


def others_of_the_paper(cells: Sequence[Cell]) -> list[Kept]:
    """Return the Class IL cells of the paper's study that `remember` does not have."""
    found = [cell for cell in cells if cell.scenario == "class" and cell.is_of("rq2")]
    return _measured([cell for cell in found if not cell.is_of("remember")])


def other_scenarios(cells: Sequence[Cell]) -> list[Kept]:
    """Return the cells of the study `remember-scenarios`: Domain and Task IL, in their order."""
    return _of_study(cells, "remember-scenarios")


def settings_of(cell: Cell) -> str:
    """Return in what a cell differs from its preset, options without the names of their owners."""
    short = {key.rsplit(".", 1)[-1]: value for key, value in cell.deviations.items()}
    return written(short)


def method_of(cell: Cell) -> str:
    """Return the name of a method with the settings in which a cell differs from its preset."""
    settings = settings_of(cell)
    return name_of(cell.method) + (f" ({settings})" if settings else "")


def _of_study(cells: Sequence[Cell], study: str) -> list[Kept]:
    of_study = [cell for cell in cells if cell.is_of(study)]
    if not any(cell.method == "gaussian" for cell in of_study):
        return []
    return _measured(of_study)


def _measured(cells: Sequence[Cell]) -> list[Kept]:
    """Return what each cell keeps and reaches, if its records tell both."""
    found = []
    for cell in cells:
        key = "learner_mb" if cell.algorithm in CLOSED else "strategy_mb"
        sizes = [size for run in cell.runs if (size := _at_end(run, key)) is not None]
        accuracy = cell.summary("acc")
        if accuracy is not None and sizes:
            seconds = min(run.seconds or 0.0 for run in cell.runs)
            megabytes = statistics.fmean(sizes)
            found.append(Kept(cell, accuracy, cell.summary("fgt"), megabytes, seconds))
    return found


def _at_end(run: Record, key: str) -> float | None:
    """Return a number of a run's last experience, if the record tells it."""
    ends = run.details.get("experiences")
    end = ends[-1] if isinstance(ends, list) and ends else None
    return number(end.get(key)) if isinstance(end, Mapping) else None


def kept_section(past: Sequence[Kept]) -> Section | None:
    """Return Class IL by what is kept of the past, and how each differs from the best (paired)."""
    if not past:
        return None
    best: dict[str, Cell] = {}
    for each in past:
        if each.cell.method != BOUND:
            best.setdefault(each.cell.dataset, each.cell)
    differences = []
    for each in past:
        top = best.get(each.cell.dataset, each.cell)
        less = None if top is each.cell else paired(each.cell.by_seed("acc"), top.by_seed("acc"))
        differences.append(less)
    rows = []
    for each, text in zip(past, corrected(differences), strict=True):
        cell = each.cell
        names = [name_of(cell.dataset), method_of(cell), name_of(cell.algorithm)]
        numbers = [summary_text(each.accuracy), summary_text(each.forgetting)]
        numbers += [f"{each.megabytes:.2f}", f"{each.seconds:.0f}"]
        rows.append([*names, str(len(cell.runs)), *numbers, text])
    titles = ["Dataset", "Method", "Algorithm", "Seeds", "Accuracy", "Forgetting"]
    titles += ["Kept, MB", "Seconds, fastest", "Less the best, paired"]
    about = (
        "Examples (replay, DER++), statistics (gaussian, ridge, SLDA), earlier weights (LwF) or "
        "nothing, after the paper's protocol; in parentheses what differs from it. Replay of 2,115 "
        "examples takes the bytes that gaussian ends with: an example is 784 bytes of pixels and "
        "32 of label, task, key and group. Replay with `batch=2048` has as many of them in a step "
        "as gaussian has pseudo-examples. Gaussian with `parts=10, dtype=int8` keeps twice the "
        "parts in half the bits: the same bytes. With `contrast_with=current` new examples compete "
        "among new labels only; SFFA, gated has a gate besides. Of ridge and SLDA, what is kept is "
        "the learner, and no other method can be defined: they have no gradient. The last column "
        "is the mean difference, over common seeds, from the best of those that do not keep every "
        "example. Seconds by the clock, of the fastest seed: others shared their core."
    )
    if any(each.cell.method == BOUND for each in past):
        about += (
            " Joint learns from every example seen so far in each experience: an upper bound for "
            "what has its batch and step size."
        )
    return Section("Class IL by what is kept of the past", [about, TextTable(titles, rows)])


def scenarios_section(found: Sequence[Kept]) -> Section | None:
    """Return Domain and Task IL: statistics beside examples, and their paired difference."""
    if not found:
        return None
    places: dict[tuple[str, str, str], dict[str, Kept]] = {}
    for each in found:
        cell = each.cell
        place = (cell.dataset, cell.scenario, cell.algorithm)
        places.setdefault(place, {})[cell.method] = each
    differences = []
    for pair in places.values():
        accuracies = [pair[m].cell.by_seed("acc") if m in pair else {} for m in _COMPARED]
        differences.append(paired(*accuracies))
    rows = []
    for (place, pair), text in zip(places.items(), corrected(differences), strict=True):
        row = [name_of(part) for part in place]
        for method in _BESIDE:
            row += _counted(pair.get(method))
        rows.append([*row, text])
    titles = ["Dataset", "Scenario", "Algorithm"]
    for method in _BESIDE:
        titles += [name_of(method), "seeds", "kept, MB"]
    about = (
        "Statistics of each class in place of examples (gaussian) beside replay of 500 examples, "
        "accuracy at the end of the stream. The last column is the mean difference over common "
        "seeds. Domain IL keeps a mixture for each original class, labelled as the domain has it. "
        "Naive keeps nothing, but of ridge and SLDA the learner itself, which is all they can do."
    )
    titles.append("Gaussian − replay, paired")
    return Section(
        "Domain and Task IL by what is kept of the past", [about, TextTable(titles, rows)]
    )


def _counted(each: Kept | None) -> list[str]:
    """Return accuracy, number of seeds and megabytes of a cell."""
    if each is None:
        return [NONE, "0", NONE]
    return [summary_text(each.accuracy), str(len(each.cell.runs)), f"{each.megabytes:.2f}"]
