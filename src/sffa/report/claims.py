"""What the paper claims, asked of our records: the numbers on both sides, and the answer."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sffa.report.cells import Cell
from sffa.study.compare import Summary
from sffa.vocabulary import PAPER_ALGORITHMS, main_metric

Place = tuple[str, str, str, str]
Numbers = dict[Place, Summary]

REGULARISERS = ("ewc", "si", "mas")
_SEEDS = 10  # of the paper


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, what the numbers say on both sides, and whether ours bear it out."""

    sentence: str
    ours: str
    paper: str
    holds: bool


@dataclass(frozen=True)
class _Question:
    """A claim that can be asked of any numbers: the answer in words, and whether it is yes."""

    sentence: str
    ask: Callable[[Numbers], tuple[str, bool] | None]


def claims(cells: Sequence[Cell]) -> list[Claim]:
    """Ask every claim that the cells have numbers for, each of the same cells of the paper."""
    ours, paper = _numbers(cells)
    found = []
    for question in _QUESTIONS:
        answer, theirs = question.ask(ours), question.ask(paper)
        if answer is not None and theirs is not None:
            found.append(Claim(question.sentence, answer[0], theirs[0], answer[1]))
    return found


def _numbers(cells: Sequence[Cell]) -> tuple[Numbers, Numbers]:
    ours: Numbers = {}
    paper: Numbers = {}
    for cell in cells:
        found = cell.compare(main_metric(cell.scenario))
        if found.ours is None or found.paper is None:
            continue
        method = "" if cell.static else cell.method
        place = cell.dataset, cell.scenario, method, cell.algorithm
        ours[place] = found.ours
        paper[place] = Summary(found.paper, found.paper_sem, _SEEDS)
    return ours, paper


def _gaps(
    numbers: Numbers, better: str, worse: str, scenarios: Iterable[str], methods: Iterable[str] = ()
) -> list[float]:
    """Return by how many points one algorithm is above another, for every cell both have."""
    kept = set(scenarios), set(methods)
    return [
        found.mean - numbers[*place[:3], worse].mean
        for place, found in numbers.items()
        if place[3] == better
        and place[1] in kept[0]
        and (not kept[1] or place[2] in kept[1])
        and (*place[:3], worse) in numbers
    ]


def _above(gaps: Sequence[float]) -> str:
    count = sum(gap > 0 for gap in gaps)
    return f"{count} of {len(gaps)} cells, {statistics.fmean(gaps):+.1f} points on average"


def _symmetry(numbers: Numbers) -> tuple[str, bool] | None:
    gaps = _gaps(numbers, "sffa", "ffa", ["static"])
    return (_above(gaps), statistics.fmean(gaps) > 0) if gaps else None


def _replay(numbers: Numbers) -> tuple[str, bool] | None:
    streams: dict[Place, dict[str, float]] = {}
    for (dataset, scenario, method, algorithm), found in numbers.items():
        if scenario in ("class", "domain"):
            streams.setdefault((dataset, scenario, "", algorithm), {})[method] = found.mean
    whole = [methods for methods in streams.values() if len(methods) > 1 and "replay" in methods]
    if not whole:
        return None
    best = sum(max(methods, key=methods.__getitem__) == "replay" for methods in whole)
    return f"best in {best} of {len(whole)} streams", best == len(whole)


def _gem(numbers: Numbers) -> tuple[str, bool] | None:
    gaps = _gaps(numbers, "sffa", "bp", ["class"], ["gem"])
    return (_above(gaps), min(gaps) > 0) if gaps else None


def _regularisers(numbers: Numbers) -> tuple[str, bool] | None:
    values = [
        found.mean
        for (_, scenario, method, algorithm), found in numbers.items()
        if scenario == "class" and method in REGULARISERS and algorithm != "ffa"
    ]
    if not values:
        return None
    return f"{min(values):.1f} to {max(values):.1f} % (naive is 20)", max(values) < 30


def _mas(numbers: Numbers) -> tuple[str, bool] | None:
    datasets = {place[0] for place in numbers}
    whole = [
        dataset
        for dataset in datasets
        if all(
            (dataset, "task", method, algorithm) in numbers
            for method in ("naive", "mas")
            for algorithm in PAPER_ALGORITHMS
        )
    ]
    if not whole:
        return None
    gain = {
        algorithm: statistics.fmean(
            numbers[dataset, "task", "mas", algorithm].mean
            - numbers[dataset, "task", "naive", algorithm].mean
            for dataset in whole
        )
        for algorithm in PAPER_ALGORITHMS
    }
    text = ", ".join(f"{name.upper()} {value:+.1f}" for name, value in gain.items())
    return f"over naive: {text}", max(gain["ffa"], gain["sffa"]) < gain["bp"] / 2 and gain["bp"] > 0


def _task_gap(numbers: Numbers) -> tuple[str, bool] | None:
    free = _gaps(numbers, "bp", "sffa", ["task"], ["naive", *REGULARISERS])
    replayed = _gaps(numbers, "bp", "sffa", ["task"], ["replay"])
    if not free or not replayed:
        return None
    wide, narrow = statistics.fmean(free), statistics.fmean(replayed)
    return f"{wide:+.1f} points without examples kept, {narrow:+.1f} with replay", (
        wide > 1 and abs(narrow) < wide / 2
    )


def _spread(numbers: Numbers) -> tuple[str, bool] | None:
    pairs = [
        (found.sem, other.sem)
        for place, found in numbers.items()
        if place[3] == "sffa"
        and (other := numbers.get((*place[:3], "ffa"))) is not None
        and found.sem is not None
        and other.sem is not None
        and found.count == other.count
    ]
    if not pairs:
        return None
    less = sum(sem < other for sem, other in pairs)
    medians = [statistics.median(side) for side in zip(*pairs, strict=True)]
    text = f"{less} of {len(pairs)} cells; median error {medians[0]:.2f} against {medians[1]:.2f}"
    return text, less > len(pairs) / 2 and medians[0] < medians[1]


_QUESTIONS = (
    _Question("Symmetry helps: SFFA is above FFA on static data", _symmetry),
    _Question("Replay is the best method in Class IL and Domain IL", _replay),
    _Question("GEM gains under SFFA: it is above back-propagation with GEM in Class IL", _gem),
    _Question(
        "Regularisers fail in Class IL: SFFA and back-propagation stay below 30 %", _regularisers
    ),
    _Question(
        "MAS gains less than half as much under forward-forward as under back-propagation, Task IL",
        _mas,
    ),
    _Question(
        "Back-propagation is more than a point ahead of SFFA in Task IL, unless examples are kept",
        _task_gap,
    ),
    _Question("SFFA varies less than FFA over seeds: in most cells, and by the median", _spread),
)
