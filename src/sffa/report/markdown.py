"""Results as Markdown: the paper's tables with ours beside them, and what is ours alone."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from sffa import continual
from sffa.files import write_text
from sffa.record import Record
from sffa.report import figures as draw
from sffa.report.cells import Cell, cells
from sffa.report.claims import claims
from sffa.report.drawing import Drawing
from sffa.report.kept import Kept, kept
from sffa.report.tables import NONE, written
from sffa.study.compare import Summary, summarise
from sffa.study.estimate import duration
from sffa.study.grid import Study
from sffa.study.paper import published
from sffa.study.presets import RQ1, RQ2
from sffa.vocabulary import CONTINUAL, METHODS, PAPER_ALGORITHMS, SCENARIOS, name_of, rank_of

_OURS = "sffa-gated"
_INTRODUCTION = """\
Made by `{command}`{but}.
All numbers are percent: the mean ± its standard error over seeds, then the paper's in \
parentheses, then the difference, in **bold** where it is more than two combined standard errors \
(the paper gives errors for the accuracies of RQ2 only).
"""


def write_markdown(
    path: str | os.PathLike[str],
    records: Iterable[Record],
    *,
    title: str = "Results",
    findings: str = "",
    command: str = "sffa report",
) -> Path:
    """Write the text to ``path``, and its figures into the folder ``figures`` beside it.

    ``findings`` is a section written by people; ``command`` is what the text says it was made by.
    """
    target = Path(path)
    runs = list(records)
    groups = [cell for cell in cells(runs) if cell.runs]
    past = kept(groups)
    remembered = {id(each.cell) for each in past}
    shown, other = _sorted_out(groups)
    other = [cell for cell in other if id(cell) not in remembered]
    drawings = _drawings([replace(cell, variant="") for cell in shown])
    drawings += [drawing for drawing in [draw.kept_figure(past)] if drawing is not None]
    for drawing in drawings:
        write_text(target.parent / "figures" / f"{drawing.name}.svg", drawing.svg)
    by_hand = ', none of it by hand but "What we make of it" ([findings.md](findings.md))'
    named = " ".join(command.split()).replace("`", "'")
    introduction = _INTRODUCTION.format(command=named, but=by_hand if findings else "")
    text = _text(runs, shown, other, past, findings, drawings)
    write_text(target, f"# {_words(title)}\n\n{introduction}\n{text}")
    return target


def findings_beside(folder: Path) -> str:
    """Read what people made of the results, if they wrote it down in the folder."""
    file = folder / "findings.md"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _text(
    runs: Sequence[Record],
    shown: Sequence[Cell],
    other: Sequence[Cell],
    past: Sequence[Kept],
    findings: str,
    drawings: Sequence[Drawing],
) -> str:
    parts = [
        _static(shown),
        _agreement(shown),
        *(_continual(shown, metric) for metric in ("acc", "fgt", "fwt")),
        _claims(shown),
        _kept(past),
        findings.strip() + "\n" if findings else "",
        _variants(other, shown),
        _costs(runs),
        "\n".join(
            f"![{_words(d.title)}](figures/{quote(d.name)}.svg)\n\n{_words(d.caption)}\n"
            for d in drawings
        ),
    ]
    return "\n".join(part for part in parts if part)


def _kept(past: Sequence[Kept]) -> str:
    """Return Class IL by what is kept of the past, and how each differs from the best (paired)."""
    if not past:
        return ""
    rows = []
    best: dict[str, Kept] = {}
    for each in past:
        cell = each.cell
        top = best.setdefault(cell.dataset, each)
        names = [name_of(part) for part in (cell.dataset, cell.method, cell.algorithm)]
        numbers = [_plain(each.accuracy), _plain(each.forgetting), f"{each.megabytes:.2f}"]
        seconds = f"{each.seconds:.0f}"
        rows.append([*names, str(len(cell.runs)), *numbers, seconds, _paired(cell, top.cell)])
    titles = ["Dataset", "Method", "Algorithm", "Seeds", "Accuracy", "Forgetting"]
    titles += ["Kept, MB", "Seconds", "Less than the best, paired"]
    return (
        "## Class IL by what is kept of the past\n\nExamples (replay, DER++), statistics "
        "(gaussian, ridge, SLDA) or nothing, after the paper's protocol. Of ridge and SLDA, what "
        "is kept is the learner. The last column is the mean difference over common seeds with "
        "its standard error. Seconds by the clock, on a machine that did other work too.\n\n"
        + _table(titles, rows)
    )


def _paired(cell: Cell, best: Cell) -> str:
    """Return the mean difference from another cell over common seeds."""
    theirs = {run.seed: run.metrics["acc"] for run in best.runs}
    common = [theirs[r.seed] - r.metrics["acc"] for r in cell.runs if r.seed in theirs]
    return NONE if cell is best or not common else _plain(summarise(common))


def _sorted_out(groups: Iterable[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Part the cells that the tables show, one for each place, from all others."""
    shown: dict[tuple[str, ...], Cell] = {}
    other = []
    for cell in groups:
        if _standard(cell) and cell.place not in shown:
            shown[cell.place] = cell
        else:
            other.append(cell)
    return list(shown.values()), other


def _standard(cell: Cell) -> bool:
    """Whether a cell belongs into the tables: the paper's, ours, or a dataset of neither."""
    return cell.is_of("rq1", "rq2", "ours") or cell.dataset not in {*_planned(RQ1), *_planned(RQ2)}


def _planned(study: Study) -> list[str]:
    """Return the datasets of a study."""
    return [name for grid in study.grids for name in grid.values_of("dataset")]


def _drawings(groups: Sequence[Cell]) -> list[Drawing]:
    found = [draw.accuracy_bars(groups), draw.agreement(groups)]
    some = [drawing for drawing in found if drawing is not None]
    return [*some, *draw.streams(groups), *draw.learning_curves(groups)]


def _static(shown: Sequence[Cell]) -> str:
    """Return RQ1: three ways to count for each dataset and algorithm."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in shown:
        if cell.static:
            found.setdefault((cell.dataset, cell.algorithm), []).append(cell)
    if not found:
        return ""
    planned = _planned(RQ1)
    rows = []
    for dataset in dict.fromkeys([*planned, *(dataset for dataset, _ in found)]):
        for algorithm in (*PAPER_ALGORITHMS, _OURS):
            alike = found.get((dataset, algorithm), [])
            for cell in alike:
                others = [_plain(cell.summary(metric)) for metric in ("last", "val_selected")]
                title = _title(algorithm) + (f", {cell.method} negatives" if alike[1:] else "")
                counted = [str(len(cell.runs)), _compared(cell, "best"), *others]
                rows.append([name_of(dataset), title, *counted])
            if not alike and dataset in planned and algorithm != _OURS:
                paper = published((dataset, "static", "", algorithm), "best")
                theirs = NONE if paper is None else f"not run ({paper.mean:.2f})"
                rows.append([name_of(dataset), _title(algorithm), "0", theirs, NONE, NONE])
    lacking = [d for d in planned if any((d, a) not in found for a in PAPER_ALGORITHMS)]
    foot = "Best: the best test accuracy over epochs, as the paper counts. Selected: the test "
    foot += "accuracy of the epoch that was best on held-out training examples, the honest one.\n"
    if lacking:
        command = f"sffa reproduce rq1 --datasets {','.join(lacking)}"
        foot += f"\nWhat was not run is filled by `{command}`.\n"
    titles = ["Dataset", "Algorithm", "Seeds", "Best epoch", "Last epoch", "Selected epoch"]
    return f"## RQ1: static datasets\n\n{_table(titles, rows)}\n{foot}"


def _agreement(shown: Sequence[Cell]) -> str:
    """Return how near the accuracies of RQ2 are to the paper's, and how methods rank."""
    rows = []
    for algorithm in PAPER_ALGORITHMS:
        cells = [c for c in shown if not c.static and c.algorithm == algorithm]
        found = [f for c in cells if (f := c.compare("acc")).difference is not None]
        if not found:
            continue
        gaps = sorted(abs(f.difference or 0.0) for f in found)
        near = f"{sum(gap <= 3 for gap in gaps)} of {len(gaps)}"
        judged = [f.verdict for f in found if f.verdict != "open"]
        same = f"{judged.count('same')} of {len(judged)}"
        ranks = _rank_correlations(cells)
        rank = f"{statistics.fmean(ranks):.2f}" if ranks else NONE
        rows.append([_title(algorithm), near, same, f"{statistics.median(gaps):.2f}", rank])
    if not rows:
        return ""
    titles = ["Algorithm", "Within 3 points", "Within two standard errors"]
    titles += ["Median absolute difference", "Rank correlation of the methods"]
    return f"## RQ2 at a glance\n\n{_table(titles, rows)}"


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


def _continual(shown: Sequence[Cell], metric: str) -> str:
    """Return one metric of RQ2: methods down, algorithms across, for each dataset."""
    found = {(c.dataset, c.scenario, c.method, c.algorithm): c for c in shown if not c.static}
    if not any(cell.summary(metric) for cell in found.values()):
        return ""
    ours = any(place[3] == _OURS for place in found)
    algorithms = [*PAPER_ALGORITHMS, *([_OURS] if ours else [])]
    text = f"## RQ2: {name_of(metric).lower()}\n\n"
    for dataset in dict.fromkeys(place[0] for place in found):
        rows = []
        for scenario, method in _streams(dataset, found):
            cells = [found.get((dataset, scenario, method, a)) for a in algorithms]
            row = [NONE if cell is None else _compared(cell, metric) for cell in cells]
            rows.append([name_of(scenario), name_of(method), *row])
        titles = ["Scenario", "Method", *(_title(algorithm) for algorithm in algorithms)]
        text += f"### {_words(name_of(dataset))}\n\n{_table(titles, rows)}\n"
    counts = sorted({len(cell.runs) for cell in found.values()})
    return text + (f"Seeds of a cell: {_span(counts)}.\n" if counts else "")


def _streams(dataset: str, found: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return the scenarios and methods of a table: the paper's, and what else there is."""
    planned = [(s, m) for s in CONTINUAL for m in METHODS if m in continual.PAPER]
    own = [(place[1], place[2]) for place in found if place[0] == dataset]
    pairs = {*own, *(planned if dataset in _planned(RQ2) else [])}
    return sorted(pairs, key=lambda pair: (rank_of(SCENARIOS, pair[0]), rank_of(METHODS, pair[1])))


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _claims(shown: Sequence[Cell]) -> str:
    found = claims(shown)
    if not found:
        return ""
    rows = [[c.sentence, c.ours, c.paper, "yes" if c.holds else "**no**"] for c in found]
    return f"## The paper's claims\n\n{_table(['Claim', 'Ours', 'Paper', 'Holds'], rows)}"


def _variants(other: Sequence[Cell], shown: Sequence[Cell]) -> str:
    """Return what else was tried, each beside the run of the same cell that the tables show."""
    if not other:
        return ""
    places = {cell.place: cell for cell in shown}
    rows = []
    for cell in other:
        standard = places.get(cell.place)
        same = None if standard is None else _over_seeds(standard, cell)
        names = [name_of(part) for part in (cell.dataset, cell.scenario, cell.method)]
        names += [name_of(cell.algorithm), cell.variant or "as named", str(len(cell.runs))]
        rows.append([*names, _plain(cell.summary("acc")), same or NONE])
    titles = ["Dataset", "Scenario", "Method", "Algorithm", "Variant", "Seeds"]
    return (
        "## Variants\n\nWhat was tried beside the configurations of the tables: accuracy, and "
        "under Standard that of the tables over the same seeds.\n\n"
        + _table([*titles, "Accuracy", "Standard"], rows)
    )


def _over_seeds(cell: Cell, like: Cell) -> str | None:
    seeds = {run.seed for run in like.runs}
    values = [run.metrics["acc"] for run in cell.runs if run.seed in seeds and "acc" in run.metrics]
    return f"{statistics.fmean(values):.2f}" if values and len(values) == len(seeds) else None


def _costs(runs: Sequence[Record]) -> str:
    """Return the computing time by scenario and algorithm."""
    times: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        if run.seconds is not None and run.done:
            times.setdefault((run.scenario, run.algorithm), []).append(run.seconds)
    rows = []
    for scenario, algorithm in sorted(times, key=lambda key: (rank_of(SCENARIOS, key[0]), key[1])):
        taken = times[scenario, algorithm]
        words = [str(len(taken)), duration(statistics.median(taken)), duration(sum(taken))]
        rows.append([name_of(scenario), _title(algorithm), *words])
    total = duration(sum(sum(t) for t in times.values()))
    titles = ["Scenario", "Algorithm", "Runs", "Median of a run", "In all"]
    failed = sum(not run.done for run in runs)
    return (
        f"## Time\n\n{_table(titles, rows)}\nTogether {total}, each run counted by the clock; "
        "runs side by side on one machine count twice."
        + (f" {failed} runs failed and are not in the tables." if failed else "")
        + "\n"
    )


def _title(algorithm: str) -> str:
    return name_of(algorithm) + (" (ours)" if algorithm == _OURS else "")


def _compared(cell: Cell, metric: str) -> str:
    found = cell.compare(metric)
    if found.difference is None:
        return _plain(found.ours)
    paper = written(found.paper or 0.0, found.paper_sem)
    gap = f"{found.difference:+.2f}".replace("-", "−")
    mark = "**" if found.verdict in ("better", "worse") else ""
    return f"{_plain(found.ours)} ({paper}) {mark}{gap}{mark}"


def _plain(found: Summary | None) -> str:
    return NONE if found is None else written(found.mean, found.sem)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """Return what stands in a cell of a table as one line that ends no cell."""
    return _words(text).replace("|", "\\|")


def _words(text: object) -> str:
    """Return text from records as Markdown that is neither HTML nor a link nor a heading.

    Stars stay: the tables write their own bold with them.
    """
    line = " ".join(str(text).split())
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        line = line.replace(sign, entity)
    return "".join(f"\\{sign}" if sign in "`[]" else sign for sign in line)
