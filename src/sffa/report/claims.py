"""What the paper claims, as contrasts of accuracies: ours seed by seed, the paper's read both ways.

A claim says that one contrast (a sum of accuracies with weights) is above zero on average, or that
each of several is. Ours are paired: a contrast is taken for each seed, and tested by its t interval
over seeds. Claims are corrected for one another by Holm's method.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sffa.report.cells import Cell
from sffa.study.paper import SEEDS, Reading, published, standard_error
from sffa.study.statistics import Summary, holm, summarise
from sffa.vocabulary import main_metric, name_of

Place = tuple[str, str, str, str]
Values = dict[Place, dict[int, float]]
Verdict = Literal["yes", "no", "undecided"]

REGULARISERS = ("ewc", "si", "mas")
_FAILED = 30.0  # percent: what a regulariser that fails in Class IL stays below
_LIMIT = 0.05


@dataclass(frozen=True)
class Answer:
    """What numbers say to a claim: in words, its p value corrected, and whether it is borne out.

    ``positive`` is whether the means are on the side of the claim.
    """

    text: str
    positive: bool
    p_value: float | None = None
    verdict: Verdict = "undecided"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, asked of ours and of its own numbers under both readings of ±."""

    sentence: str
    ours: Answer
    paper: Answer
    paper_sd: Answer


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of accuracies and a constant, which a claim has above zero."""

    name: str
    weights: dict[Place, float]
    constant: float = 0.0

    def ours(self, values: Values) -> Summary | None:
        """Summarise it over the seeds that all its cells have."""
        common = set.intersection(*({*values[place]} for place in self.weights))
        return summarise(
            [
                self.constant + sum(w * values[p][seed] for p, w in self.weights.items())
                for seed in sorted(common)
            ]
        )

    def paper(self, reading: Reading) -> Summary:
        """Compute it from the paper's means; not paired, as its runs are not published."""
        mean, errors = self.constant, []
        for place, weight in self.weights.items():
            found = _published(place)
            mean += weight * found[0]
            error = standard_error(found[1], place[3], reading)
            errors.append(math.nan if error is None else weight * error)
        sem = math.hypot(*errors)
        return Summary(mean, None if math.isnan(sem) else sem, SEEDS)


def claims(cells: Sequence[Cell]) -> list[Claim]:
    """Ask every claim that the cells have numbers for, each of the same cells of the paper."""
    values = _values(cells)
    asked = [(sentence, ask(values)) for sentence, ask in _QUESTIONS]
    found = [(sentence, answers) for sentence, answers in asked if answers is not None]
    columns = [_judged([answers[column] for _, answers in found]) for column in range(3)]
    return [
        Claim(sentence, *answers)
        for (sentence, _), answers in zip(found, zip(*columns, strict=True), strict=True)
    ]


def _values(cells: Sequence[Cell]) -> Values:
    """Return the accuracies by seed of every cell that the paper has too."""
    found: Values = {}
    for cell in cells:
        method = "" if cell.static else cell.method
        place = cell.dataset, cell.scenario, method, cell.algorithm
        metric = main_metric(cell.scenario)
        values = cell.by_seed(metric)
        if values and published(place, metric) is not None:
            found[place] = values
    return found


def _published(place: Place) -> tuple[float, float | None]:
    found = published(place, main_metric(place[1]))
    assert found is not None, place
    return found


def _judged(answers: Sequence[Answer]) -> list[Answer]:
    """Correct the p values for one another, and say which claims are decided by them."""
    judged = []
    for answer, p in zip(answers, holm([a.p_value for a in answers]), strict=True):
        decided: Verdict = "yes" if answer.positive else "no"
        verdict: Verdict = decided if p is not None and p < _LIMIT else "undecided"
        judged.append(replace(answer, p_value=p, verdict=verdict))
    return judged


def effect(found: Summary) -> str:
    """Write a difference in points with its t interval.

    >>> effect(Summary(2.0, 1.0, 3))
    '+2.00 [−2.30, +6.30]'
    """
    interval = found.interval()
    text = f"{found.mean:+.2f}"
    if interval is not None:
        text += f" [{interval[0]:+.2f}, {interval[1]:+.2f}]"
    return text.replace("-", "−")


Answers = tuple[Answer, Answer, Answer]
_Numbers = Callable[[Contrast], Summary | None]


def _each(values: Values, ask: Callable[[_Numbers], Answer | None]) -> Answers | None:
    """Ask ours, then the paper's numbers under both readings."""
    ours = ask(lambda contrast: contrast.ours(values))
    paper = ask(lambda contrast: contrast.paper("sem"))
    paper_sd = ask(lambda contrast: contrast.paper("sd"))
    return (ours, paper, paper_sd) if ours and paper and paper_sd else None


def _average(values: Values, contrasts: Sequence[Contrast]) -> Answers | None:
    """Answer whether contrasts are above zero on average."""
    if not contrasts:
        return None
    whole = _mean(contrasts)

    def ask(of: _Numbers) -> Answer | None:
        found, parts = of(whole), [part for c in contrasts if (part := of(c)) is not None]
        if found is None:
            return None
        above = sum(part.mean > 0 for part in parts)
        text = effect(found) + (f"; above zero in {above} of {len(parts)}" if parts[1:] else "")
        return Answer(text, found.mean > 0, found.p_value)

    return _each(values, ask)


def _every(values: Values, contrasts: Sequence[Contrast]) -> Answers | None:
    """Answer whether each contrast is above zero: the weakest decides, without a correction.

    That one is below zero is more easily found among many, so that p value is Bonferroni's.
    """
    if not contrasts:
        return None

    def ask(of: _Numbers) -> Answer | None:
        found = [(part, c.name) for c in contrasts if (part := of(c)) is not None]
        if not found:
            return None
        weakest, name = min(found, key=lambda pair: _strength(pair[0]))
        above = sum(part.mean > 0 for part, _ in found)
        p = weakest.p_value
        if p is not None and weakest.mean <= 0:
            p = min(1.0, p * len(found))
        text = f"weakest {effect(weakest)} ({name}); above zero in {above} of {len(found)}"
        return Answer(text, weakest.mean > 0, p)

    return _each(values, ask)


def _strength(found: Summary) -> float:
    """Return the t statistic, by which contrasts are ordered from weak to strong."""
    if found.sem is None or not found.mean:
        return found.mean
    return found.mean / found.sem if found.sem else math.copysign(math.inf, found.mean)


def _mean(contrasts: Sequence[Contrast], name: str = "on average") -> Contrast:
    """Return the average of contrasts, which is one too."""
    weights: dict[Place, float] = {}
    for contrast in contrasts:
        for place, weight in contrast.weights.items():
            weights[place] = weights.get(place, 0.0) + weight / len(contrasts)
    return Contrast(name, weights, statistics.fmean(c.constant for c in contrasts))


def _between(
    values: Values,
    better: str,
    worse: str,
    scenario: str,
    methods: Iterable[str] = (),
    margin: float = 0.0,
) -> list[Contrast]:
    """Return by how much more than a margin one algorithm is above another, cell by cell."""
    kept = set(methods)
    return [
        Contrast(_named(place), {place: 1.0, (*place[:3], worse): -1.0}, -margin)
        for place in values
        if place[1] == scenario
        and place[3] == better
        and (not kept or place[2] in kept)
        and (*place[:3], worse) in values
    ]


def _named(place: Place) -> str:
    return ", ".join(name_of(part) for part in (place[0], place[1], place[2]) if part)


def _symmetry(values: Values) -> Answers | None:
    return _average(values, _between(values, "sffa", "ffa", "static"))


def _replay(values: Values) -> Answers | None:
    contrasts = [
        Contrast(f"{_named(place)} over {name_of(other[2])}, {name_of(place[3])}", weights)
        for place in values
        if place[2] == "replay" and place[1] in ("class", "domain")
        for other in values
        if other[2] != "replay" and (*other[:2], other[3]) == (*place[:2], place[3])
        for weights in [{place: 1.0, other: -1.0}]
    ]
    return _every(values, contrasts)


def _gem(values: Values) -> Answers | None:
    return _every(values, _between(values, "sffa", "bp", "class", ["gem"]))


def _regularisers(values: Values) -> Answers | None:
    contrasts = [
        Contrast(f"{_named(place)}, {name_of(place[3])}", {place: -1.0}, _FAILED)
        for place in values
        if place[1] == "class" and place[2] in REGULARISERS and place[3] != "ffa"
    ]
    return _every(values, contrasts)


def _mas(algorithm: str) -> Callable[[Values], Answers | None]:
    """Ask whether MAS gains anything by back-propagation, and less than half of it otherwise."""

    def ask(values: Values) -> Answers | None:
        gains, losses = [], []
        for dataset in dict.fromkeys(place[0] for place in values):
            own, other = ((dataset, "task", "mas", name) for name in (algorithm, "bp"))
            naive = [(*place[:2], "naive", place[3]) for place in (own, other)]
            if {own, other, *naive} <= {*values}:
                gains.append(Contrast("", {other: 1.0, naive[1]: -1.0}))
                half = {other: 0.5, naive[1]: -0.5, own: -1.0, naive[0]: 1.0}
                losses.append(Contrast("", half))
        if not gains:
            return None
        word = name_of(algorithm)
        return _every(
            values,
            [
                _mean(losses, f"half of back-propagation's gain less {word}'s"),
                _mean(gains, "back-propagation's gain"),
            ],
        )

    return ask


def _task_lead(values: Values) -> Answers | None:
    free = ["naive", *REGULARISERS]
    return _average(values, _between(values, "bp", "sffa", "task", free, margin=1.0))


def _task_replay(values: Values) -> Answers | None:
    free = _between(values, "bp", "sffa", "task", ["naive", *REGULARISERS])
    replayed = _between(values, "bp", "sffa", "task", ["replay"])
    if not free or not replayed:
        return None
    weights = {place: weight / 2 for place, weight in _mean(free).weights.items()}
    weights |= {place: -weight for place, weight in _mean(replayed).weights.items()}
    return _average(values, [Contrast("", weights)])


def _spread(values: Values) -> Answers | None:
    """Ask whether SFFA varies less; ours by the distances from the mean (Levene), paired.

    Only seeds that both have count.
    """
    pairs: list[tuple[Place, Place]] = []
    both: Values = {}
    for own in values:
        other = (*own[:3], "ffa")
        seeds = {*values[own]} & {*values.get(other, {})}
        if own[1] != "static" and own[3] == "sffa" and len(seeds) > 1:
            pairs.append((own, other))
            both |= {p: {seed: values[p][seed] for seed in sorted(seeds)} for p in (own, other)}
    if not pairs:
        return None
    ours = [
        (statistics.stdev(both[own].values()), statistics.stdev(both[other].values()))
        for own, other in pairs
    ]
    text, positive = _spreads(ours)
    distances = _distances(both, pairs)
    nearer = f"{text}; {effect(distances)} points nearer"
    return (
        Answer(nearer, positive, distances.p_value),
        Answer(*_spreads(_published_spreads(pairs, "sem"))),
        Answer(*_spreads(_published_spreads(pairs, "sd"))),
    )


def _published_spreads(
    pairs: Sequence[tuple[Place, Place]], reading: Reading
) -> list[tuple[float, float]]:
    """Return the standard deviations that the paper's ± stand for."""
    root = math.sqrt(SEEDS)

    def of(place: Place) -> float:
        return (standard_error(_published(place)[1], place[3], reading) or 0.0) * root

    return [(of(own), of(other)) for own, other in pairs]


def _spreads(pairs: Sequence[tuple[float, float]]) -> tuple[str, bool]:
    less = sum(sd < other for sd, other in pairs)
    own, other = (statistics.median(side) for side in zip(*pairs, strict=True))
    text = f"{less} of {len(pairs)} cells; median standard deviation {own:.2f} against {other:.2f}"
    return text, less > len(pairs) / 2 and own < other


def _distances(values: Values, pairs: Sequence[tuple[Place, Place]]) -> Summary:
    """Summarise over seeds how much farther FFA is from its mean than SFFA, cells averaged."""
    seeds = set.intersection(*({*values[place]} for place, _ in pairs))
    means = {place: statistics.fmean(values[place].values()) for pair in pairs for place in pair}
    found = summarise(
        [
            statistics.fmean(
                abs(values[other][seed] - means[other]) - abs(values[own][seed] - means[own])
                for own, other in pairs
            )
            for seed in sorted(seeds)
        ]
    )
    return found or Summary(0.0, None, 0)


_QUESTIONS: tuple[tuple[str, Callable[[Values], Answers | None]], ...] = (
    ("Symmetry helps: SFFA is above FFA on static data", _symmetry),
    ("Replay is the best method in Class IL and Domain IL", _replay),
    ("GEM gains under SFFA: it is above back-propagation with GEM in Class IL", _gem),
    ("Regularisers fail in Class IL: SFFA and back-propagation stay below 30 %", _regularisers),
    (
        "MAS gains less than half as much under SFFA as under back-propagation, Task IL",
        _mas("sffa"),
    ),
    ("MAS gains less than half as much under FFA as under back-propagation, Task IL", _mas("ffa")),
    (
        "Back-propagation is more than a point ahead of SFFA in Task IL, no examples kept",
        _task_lead,
    ),
    ("With replay less than half of that lead is left", _task_replay),
    ("SFFA varies less than FFA over seeds", _spread),
)
