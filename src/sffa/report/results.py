"""Results as sections: the paper's tables with ours beside them, and what is ours alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sffa import continual
from sffa.record import Record
from sffa.report import figures as draw
from sffa.report.cells import Cell, cells
from sffa.report.choice import held_accuracy
from sffa.report.claims import Answer, claims
from sffa.report.costs import costs_section
from sffa.report.drawing import Drawing
from sffa.report.kept import (
    kept,
    kept_section,
    other_scenarios,
    others_of_the_paper,
    scenarios_section,
)
from sffa.report.sections import Section, TextTable
from sffa.report.sparsity import sparsity_section
from sffa.report.tables import NONE, corrected, summary_text, written
from sffa.report.variants import written as settings_written
from sffa.study.compare import Comparison, near
from sffa.study.grid import Study
from sffa.study.paper import published
from sffa.study.presets import RQ1, RQ2
from sffa.study.statistics import Summary, median_gap, paired, span, summarise
from sffa.vocabulary import CONTINUAL, METHODS, PAPER_ALGORITHMS, SCENARIOS, name_of, rank_of

_OURS = "sffa-gated"
_PAIRS = (("sffa", "bp"), ("sffa", "ffa"), (_OURS, "sffa"))

INTRODUCTION = (
    "All numbers are percent: the mean ± its standard error over seeds, then the paper's in "
    "parentheses, then the difference, in **bold** where it is more than two combined standard "
    "errors. The paper gives errors for the accuracies of RQ2 only. Those of FFA are most likely "
    "standard deviations (see RQ2 at a glance): a † marks what is beyond two errors only if they "
    "are. Differences between our own cells are paired, as runs of one seed share the order of "
    "the classes: the mean difference and its 95 % t interval in brackets, in **bold** where "
    "p < 0.05 after Holm's correction for all tests of the table. A seed stands for the same bits "
    "on one machine, backend and number of threads; elsewhere rounding differs, and training "
    "amplifies it: `sffa study rerun` says by how much."
)


def results(records: Iterable[Record], findings: Section | None = None) -> list[Section]:
    """Return the sections that some records fill; ``findings`` are written by people."""
    runs = list(records)
    groups = [cell for cell in cells(runs) if cell.runs]
    past, elsewhere = kept(groups), other_scenarios(groups)
    remembered = {id(each.cell) for each in (*past, *elsewhere)}
    shown, other = _sorted_out(groups)
    other = [cell for cell in other if id(cell) not in remembered]
    drawings = _drawings([replace(cell, variant="") for cell in shown])
    beside = others_of_the_paper(groups) if past else []
    drawings += [drawing for drawing in [draw.kept_figure([*past, *beside])] if drawing is not None]
    found = [
        _static(shown),
        sparsity_section(shown),
        _agreement(shown),
        *(_continual(shown, metric) for metric in ("acc", "fgt", "fwt")),
        _claims(shown),
        _differences(shown),
        kept_section(past),
        scenarios_section(elsewhere),
        findings,
        _variants(other, shown),
        costs_section(runs),
        Section("Figures", drawings) if drawings else None,
    ]
    return [section for section in found if section is not None]


def _sorted_out(groups: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Part the cells that the tables show, one for each place, from all others.

    Of a dataset beyond the paper's, it is the cell nearest to its preset.
    """
    shown: dict[tuple[str, ...], Cell] = {}
    every = list(groups)
    for cell in every:
        taken = shown.get(cell.place)
        if _standard(cell) and (
            taken is None or (not _in_study(taken) and len(cell.deviations) < len(taken.deviations))
        ):
            shown[cell.place] = cell
    standard = {id(cell) for cell in shown.values()}
    return list(shown.values()), [cell for cell in every if id(cell) not in standard]


def _standard(cell: Cell) -> bool:
    """Whether a cell belongs into the tables: the paper's, ours, or a dataset of neither."""
    return _in_study(cell) or cell.dataset not in {*_planned(RQ1), *_planned(RQ2)}


def _in_study(cell: Cell) -> bool:
    return cell.is_of("rq1", "rq2", "ours")


def _planned(study: Study) -> list[str]:
    """Return the datasets of a study."""
    return [name for grid in study.grids for name in grid.values_of("dataset")]


def _drawings(groups: Sequence[Cell]) -> list[Drawing]:
    found = [draw.accuracy_bars(groups), draw.agreement(groups)]
    some = [drawing for drawing in found if drawing is not None]
    some += [*draw.streams(groups), *draw.within(groups), *draw.costs(groups)]
    return [*some, *draw.learning_curves(groups)]


def _static(shown: Sequence[Cell]) -> Section | None:
    """Return RQ1: three ways to count for each dataset and algorithm."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in shown:
        if cell.static:
            found.setdefault((cell.dataset, cell.algorithm), []).append(cell)
    if not found:
        return None
    planned = _planned(RQ1)
    rows = []
    for dataset in dict.fromkeys([*planned, *(dataset for dataset, _ in found)]):
        for algorithm in (*PAPER_ALGORITHMS, _OURS):
            alike = found.get((dataset, algorithm), [])
            for cell in alike:
                others = [summary_text(cell.summary(metric)) for metric in ("last", "val_selected")]
                title = _title(algorithm) + (f", {cell.method} negatives" if alike[1:] else "")
                counted = [str(len(cell.runs)), _compared(cell, "best"), *others]
                rows.append([name_of(dataset), title, *counted])
            if not alike and dataset in planned and algorithm != _OURS:
                paper = published((dataset, "static", "", algorithm), "best")
                theirs = NONE if paper is None else f"not run ({paper.mean:.2f})"
                rows.append([name_of(dataset), _title(algorithm), "0", theirs, NONE, NONE])
    lacking = [d for d in planned if any((d, a) not in found for a in PAPER_ALGORITHMS)]
    parts = [
        "Best: the best test accuracy over epochs, as the paper counts. Selected: the test "
        "accuracy of the epoch that was best on held-out training examples, the honest one. Where "
        "none were held out, the number of epochs was chosen before: the last epoch counts."
    ]
    if lacking:
        command = f"sffa reproduce rq1 --datasets {','.join(lacking)}"
        parts.append(f"What was not run is filled by `{command}`.")
    titles = ["Dataset", "Algorithm", "Seeds", "Best epoch", "Last epoch", "Selected epoch"]
    return Section("RQ1: static datasets", [TextTable(titles, rows), *parts])


def _agreement(shown: Sequence[Cell]) -> Section | None:
    """Return how near the accuracies of RQ2 are to the paper's, and how methods rank."""
    rows = []
    for algorithm in PAPER_ALGORITHMS:
        cells = [c for c in shown if not c.static and c.algorithm == algorithm]
        found = [f for c in cells if (f := c.compare("acc")).difference is not None]
        if found:
            ranks = _rank_correlations(cells)
            rank = f"{statistics.fmean(ranks):.2f}" if ranks else NONE
            rows.append([_title(algorithm), *_nearness(found), rank])
    if not rows:
        return None
    titles = ["Algorithm", "Median absolute difference", "Within 3 points"]
    titles += ["Within two standard errors", "the same, ± of FFA as standard deviations"]
    titles += ["Paper's ± over our standard deviation", "Rank correlation of the methods"]
    text = (
        "Two standard errors are wide where seeds are few or vary much, so a cell within them may "
        "be far away: the median difference stands first. A standard error over ten seeds is 0.32 "
        "of a standard deviation, which is about the ratio of the paper's ± to our standard "
        "deviation for back-propagation and SFFA; where the ratio is about one, the paper's ± is "
        "most likely a standard deviation itself (medians over cells)."
    )
    return Section("RQ2 at a glance", [TextTable(titles, rows), text])


def _nearness(found: Sequence[Comparison]) -> list[str]:
    """Return median difference, cells within three points and two errors, and the ± compared."""
    gaps = [f.difference for f in found]
    judged = [f for f in found if f.within is not None]
    ratios = [
        f.paper_sem / f.ours.sd
        for f in found
        if f.paper_sem is not None and f.ours is not None and f.ours.sd
    ]
    as_sd = f"{sum(bool(f.within_sd) for f in judged)} of {len(judged)}"
    return [
        f"{median_gap(gaps) or 0:.2f}",
        f"{near(found)} of {len(gaps)}",
        f"{sum(bool(f.within) for f in judged)} of {len(judged)}",
        as_sd if any(f.algorithm == "ffa" for f in found) else NONE,
        f"{statistics.median(ratios):.2f}" if ratios else NONE,
    ]


def _rank_correlations(cells: Sequence[Cell]) -> list[float]:
    """Return, for each stream with all six methods, Spearman's correlation with the paper's."""
    from scipy.stats import spearmanr

    streams: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell in cells:
        found = cell.compare("acc")
        if found.ours is not None and found.paper is not None:
            pair = found.ours.mean, found.paper
            streams.setdefault((cell.dataset, cell.scenario), []).append(pair)
    whole = [zip(*pairs, strict=True) for pairs in streams.values() if len(pairs) == 6]
    return [float(spearmanr(*sides).statistic) for sides in whole]


def _continual(shown: Sequence[Cell], metric: str) -> Section | None:
    """Return one metric of RQ2: methods down, algorithms across, for each dataset."""
    found = {(c.dataset, c.scenario, c.method, c.algorithm): c for c in shown if not c.static}
    if not any(cell.summary(metric) for cell in found.values()):
        return None
    ours = any(place[3] == _OURS for place in found)
    algorithms = [*PAPER_ALGORITHMS, *([_OURS] if ours else [])]
    parts: list[str | Section] = []
    for dataset in dict.fromkeys(place[0] for place in found):
        rows = []
        for scenario, method in _streams(dataset, found):
            cells = [found.get((dataset, scenario, method, a)) for a in algorithms]
            row = [NONE if cell is None else _compared(cell, metric) for cell in cells]
            rows.append([name_of(scenario), name_of(method), *row])
        titles = ["Scenario", "Method", *(_title(algorithm) for algorithm in algorithms)]
        parts.append(Section(name_of(dataset), [TextTable(titles, rows)]))
    counts = [len(cell.runs) for cell in found.values()]
    parts += [f"Seeds of a cell: {span(counts)}."] if counts else []
    return Section(f"RQ2: {name_of(metric).lower()}", parts)


def _streams(dataset: str, found: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return the scenarios and methods of a table: the paper's, and what else there is."""
    planned = [(s, m) for s in CONTINUAL for m in METHODS if m in continual.PAPER]
    own = [(place[1], place[2]) for place in found if place[0] == dataset]
    pairs = {*own, *(planned if dataset in _planned(RQ2) else [])}
    return sorted(pairs, key=lambda pair: (rank_of(SCENARIOS, pair[0]), rank_of(METHODS, pair[1])))


def _claims(shown: Sequence[Cell]) -> Section | None:
    """Return each claim with our paired effect and the paper's, under both readings of ±."""
    found = claims(shown)
    if not found:
        return None
    rows = []
    for claim in found:
        paper, paper_sd = _read(claim.paper), _read(claim.paper_sd)
        both = [paper, "the same" if paper_sd == paper else paper_sd]
        rows.append([claim.sentence, *_answered(claim.ours), *both])
    titles = ["Claim", "Ours, paired: points above zero", "p (Holm)", "Survives"]
    titles += ["Paper, ± as printed", "Paper, ± of FFA as standard deviations"]
    text = (
        "A claim says that a difference of accuracies is above zero: on average over the cells it "
        "is about, or in each of them, where the weakest decides. Ours are taken seed by seed, the "
        "paper's from its means and errors. A claim survives, or not, where p < 0.05 after Holm's "
        "correction for all claims of the column; else the means are for or against it, and "
        "seeds too few. Spread: how much nearer SFFA's seeds are to their mean than FFA's."
    )
    return Section("The paper's claims", [TextTable(titles, rows), text])


def _answered(answer: Answer) -> list[str]:
    """Return an answer of ours in words, its p value and its verdict."""
    p = NONE if answer.p_value is None else f"{answer.p_value:.3f}"
    return [answer.text, p, _verdict(answer)]


def _verdict(answer: Answer) -> str:
    if answer.verdict != "undecided":
        return f"**{answer.verdict}**"
    return f"undecided, means {'for' if answer.positive else 'against'} it"


def _read(answer: Answer) -> str:
    return f"{answer.text}: {_verdict(answer)}"


def _differences(shown: Sequence[Cell]) -> Section | None:
    """Return paired differences between the algorithms, corrected over the whole section."""
    found = {(c.dataset, c.scenario, "" if c.static else c.method, c.algorithm): c for c in shown}
    rows = list(dict.fromkeys(place[:3] for place in found))
    table = [[_paired(found, place, pair) for pair in _PAIRS] for place in rows]
    texts = iter(corrected([cell for row in table for cell in row]))
    written_out = [[next(texts) for _ in row] for row in table]
    kept_rows = [
        [*map(name_of, place[:2]), name_of(place[2]) or NONE, *cells]
        for place, cells in zip(rows, written_out, strict=True)
        if any(cell != NONE for cell in cells)
    ]
    if not kept_rows:
        return None
    titles = ["Dataset", "Scenario", "Method"]
    titles += [f"{name_of(one)} − {name_of(other)}" for one, other in _PAIRS]
    text = (
        "Accuracy of one algorithm less that of another over their common seeds, in points, with "
        "the 95 % t interval; without brackets there is one seed. Of static runs it is that of "
        "the selected epoch. An interval is of one comparison; bold is after Holm's correction "
        "for all of the table."
    )
    return Section(
        "Paired differences between the algorithms", [text, TextTable(titles, kept_rows)]
    )


def _paired(
    found: dict[tuple[str, str, str, str], Cell], place: tuple[str, ...], pair: tuple[str, str]
) -> Summary | None:
    one, other = (found.get((place[0], place[1], place[2], name)) for name in pair)
    if place[1] == "static" and _OURS in pair:  # other negatives, epochs and step size
        return None
    return (
        None if one is None or other is None else paired(one.by_seed("acc"), other.by_seed("acc"))
    )


def _variants(other: Sequence[Cell], shown: Sequence[Cell]) -> Section | None:
    """Return what else was tried, each beside the run of the same cell that the tables show."""
    if not other:
        return None
    places = {cell.place: cell for cell in shown}
    differences = [
        None
        if (standard := places.get(cell.place)) is None
        else paired(cell.by_seed("acc"), standard.by_seed("acc"))
        for cell in other
    ]
    rows = []
    for cell, difference in zip(other, corrected(differences), strict=True):
        names = [name_of(part) for part in (cell.dataset, cell.scenario, cell.method)]
        differing = settings_written(cell.deviations) or "nothing: the preset itself"
        names += [name_of(cell.algorithm), differing, str(len(cell.runs))]
        held = [value for run in cell.runs if (value := held_accuracy(run)) is not None]
        accuracies = [summary_text(summarise(held)), summary_text(cell.summary("acc"))]
        rows.append([*names, *accuracies, difference])
    titles = ["Dataset", "Scenario", "Method", "Algorithm", "Differs from its preset in", "Seeds"]
    titles += ["Held-out accuracy", "Test accuracy", "Less that of the tables, paired"]
    text = (
        "What was tried beside the configurations of the tables, and how its test accuracy "
        "differs. Settings are chosen by the accuracy on held-out training examples, where there "
        "are some, with `sffa study best`."
    )
    return Section("Variants", [text, TextTable(titles, rows)])


def _title(algorithm: str) -> str:
    return name_of(algorithm) + (" (ours)" if algorithm == _OURS else "")


def _compared(cell: Cell, metric: str) -> str:
    found = cell.compare(metric)
    if found.difference is None:
        return summary_text(found.ours)
    paper = written(found.paper or 0.0, found.paper_sem)
    gap = f"{found.difference:+.2f}".replace("-", "−")
    mark = "**" if found.verdict in ("better", "worse") else ""
    dagger = "†" if found.hangs_on_reading else ""
    return f"{summary_text(found.ours)} ({paper}) {mark}{gap}{mark}{dagger}"
