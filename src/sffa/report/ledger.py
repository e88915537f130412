"""The ledger: every cell of the paper, what we have of it, and the command that makes it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sffa.record import Record
from sffa.report.cells import Cell, cells
from sffa.report.sections import Section, TextTable
from sffa.report.tables import NONE, written
from sffa.report.variants import deviations
from sffa.report.variants import written as written_settings
from sffa.study.compare import Comparison
from sffa.study.configuration import Run
from sffa.study.paper import published
from sffa.study.presets import STUDIES
from sffa.study.statistics import median_gap
from sffa.vocabulary import main_metric, name_of

_STUDIES = {
    "rq1": "RQ1: static datasets",
    "rq2": "RQ2: streams",
    "ours": "Ours",
    "remember": "Class IL without stored examples",
    "remember-scenarios": "Domain and Task IL without stored examples",
}
_TITLES = ("Dataset", "Scenario", "Method", "Algorithm", "Paper", "Ours", "Seeds", "Verdict")
_ABOUT = ("Failed", "Date", "Commit", "Processor", "Command")
_SAME = {"same": "within two errors", "better": "better", "worse": "worse"}
INTRODUCTION = (
    "Every cell of the studies, done or not: the paper's number, ours (mean ± standard error over "
    "seeds, in percent), the verdict with the difference, failed runs, and the day, the commit, "
    "the processor and the command of the runs. Of RQ1 it is the best epoch, as the paper counts, "
    "else the accuracy at the end. Two errors are wide where seeds are few: read the difference. "
    "A commit with + had changed files."
)


def ledger(records: Iterable[Record]) -> list[Section]:
    """Return a section for each study, a row for each of its cells, done or not.

    A cell counts for a study if it was run exactly as the study does. Of RQ1 it is the best epoch,
    as the paper counts, else the accuracy at the end.
    """
    found: dict[str, Cell] = {}
    for cell in cells(records):
        found[(cell.runs or cell.failed)[0].config_hash] = cell
    return [_section(name, found) for name in _STUDIES]


def _section(study: str, found: dict[str, Cell]) -> Section:
    planned: dict[str, Run] = {}
    for run in STUDIES[study].restricted(seeds=(0,)).runs():
        planned.setdefault(run.key.config_hash, run)
    lines = [(run, found.get(digest)) for digest, run in planned.items()]
    rows = [_row(study, run, cell) for run, cell in lines]
    titles = [*_TITLES, *_ABOUT]
    return Section(_STUDIES[study], [_tally(lines), TextTable(titles, rows)])


def _tally(lines: Sequence[tuple[Run, Cell | None]]) -> str:
    """Say how many cells there are, with what verdicts, and how far from the paper they are."""
    counts: dict[str, int] = defaultdict(int)
    compared = [_compared(run, cell) for run, cell in lines]
    for line in compared:
        counts[_verdict(line)[0]] += 1
    gap = median_gap([line.difference for line in compared if line is not None])
    failed = sum(len(cell.failed) for _, cell in lines if cell is not None)
    text = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    far = "" if gap is None else f" Median absolute difference {gap:.2f} points."
    return f"{len(lines)} cells: {text}.{far} {failed or 'No'} runs failed."


def _row(study: str, run: Run, cell: Cell | None) -> list[str]:
    names = [name_of(part) for part in run.cell]
    settings = _settings(run)
    if settings:
        names[2] += f" ({written_settings(settings)})"
    paper = None if settings else published(run.cell, main_metric(run.cell[1]))
    theirs = NONE if paper is None else written(*paper)
    line = _compared(run, cell)
    ours = NONE if line is None or line.ours is None else written(line.ours.mean, line.ours.sem)
    runs = () if cell is None else cell.runs
    seeds = sorted(one.seed for one in runs if one.seed is not None)
    return [
        *names,
        theirs,
        ours,
        str(len(runs)),
        " ".join(_verdict(line)),
        _failures(cell),
        _span(one.finished[:10] for one in runs),
        _span(str(one.environment.get("commit") or "")[:8] for one in runs),
        _span(_processor(one) for one in runs),
        _command(study, run, seeds or [*STUDIES[study].seeds]),
    ]


def _compared(run: Run, cell: Cell | None) -> Comparison | None:
    """Return a cell beside the paper's number, which is of the preset and of no other settings."""
    if cell is None:
        return None
    if _settings(run):
        return replace(cell.compare("acc"), paper=None, paper_sem=None)
    return cell.compare(main_metric(cell.scenario))


def _verdict(line: Comparison | None) -> tuple[str, ...]:
    """Return the verdict, and the difference or the other reading of FFA's ± beside it."""
    if line is None or line.ours is None:
        return ("not run",)
    if line.difference is None:
        return ("no number in the paper",)
    gap = f"({line.difference:+.2f})".replace("-", "−")
    if line.verdict == "open":
        why = "the paper has no error" if line.paper_sem is None else "one seed"
        return f"not judged: {why}", gap
    if line.hangs_on_reading:
        return _SAME[line.verdict], gap, "but not if the paper's ± is a standard deviation"
    return _SAME[line.verdict], gap


def _failures(cell: Cell | None) -> str:
    """Return how many runs failed, and why the first did."""
    if cell is None or not cell.failed:
        return "0"
    first = cell.failed[0]
    return f"{len(cell.failed)}: seed {first.seed}: {(first.error or 'no reason kept')[:120]}"


def _span(values: Iterable[str]) -> str:
    """Return distinct values, in the order of the runs."""
    return ", ".join(dict.fromkeys(value for value in values if value)) or NONE


def _processor(run: Record) -> str:
    machine = run.environment.get("machine")
    name = str(machine.get("cpu") or "") if isinstance(machine, dict) else ""
    return name.replace("(R)", "").removesuffix(" Processor")


def _command(study: str, run: Run, seeds: Sequence[int]) -> str:
    """Return the command that makes a cell again."""
    dataset, scenario, method, algorithm = run.cell
    parts = [f"sffa reproduce {study} --datasets {dataset}"]
    if not run.static:
        parts.append(f"--scenarios {scenario} --methods {method}")
    parts.append(f"--algorithms {algorithm} --seeds {','.join(map(str, seeds))}")
    parts += [f"--set {name}={value}" for name, value in sorted(_settings(run).items())]
    return " ".join(parts)


def _settings(run: Run) -> dict[str, Any]:
    """Return the settings in which a run of a study differs from the preset of its algorithm."""
    found = deviations(Record(*run.cell, seed=None, config=run.values))
    return {name.removeprefix("options."): value for name, value in found.items()}
