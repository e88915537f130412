"""What was run, on what, and what is not as it should be."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sffa.record import Record
from sffa.report.cells import Cell
from sffa.report.variants import flat
from sffa.study.estimate import duration
from sffa.vocabulary import ALGORITHMS, DATASETS, METHODS, SCENARIOS, name_of, sort_keys


@dataclass(frozen=True)
class Overview:
    """Counts, the names of what was run, machines with their runs, and what is amiss.

    ``failures`` have the place of their run on the page.
    """

    facts: list[tuple[str, str]]
    machines: list[tuple[int, list[tuple[str, str]]]]
    warnings: list[str]
    failures: list[tuple[int, Record]]
    lacking: list[tuple[str, str]]
    branches: list[str]


def overview(runs: Sequence[Record], groups: Sequence[Cell]) -> Overview:
    """Look over all runs."""
    done = [run for run in runs if run.done]
    failures = [(number, run) for number, run in enumerate(runs) if not run.done]
    lacking = [(describe(cell), _seeds(cell.missing)) for cell in groups if cell.missing]
    return Overview(
        facts=_facts(runs, done, groups),
        machines=_machines(runs),
        warnings=_warnings(runs, done, lacking),
        failures=failures,
        lacking=lacking,
        branches=branches(runs),
    )


def branches(runs: Sequence[Record]) -> list[str]:
    """Return the tree of runs that went on from others, a line for each, indented by its depth.

    A run whose origin is not among the records stands at the root, and says so.
    """
    if not any(run.config.get("branch") for run in runs):
        return []
    known = {(run.config_hash, run.seed): run for run in runs if run.done}
    children: dict[tuple[str, int | None], list[Record]] = {}
    roots: list[Record] = []
    for run in known.values():
        origin = _origin(run)[0], run.seed
        (children.setdefault(origin, []) if origin in known else roots).append(run)
    lines = []
    todo = [(0, run) for run in reversed(roots)]
    while todo:
        depth, run = todo.pop()
        below = children.get((run.config_hash, run.seed), [])
        todo += [(depth + 1, child) for child in reversed(below)]
        if depth or below or _origin(run)[1]:
            lines.append(_branch(run, depth))
    return lines


def _origin(run: Record) -> tuple[str, str]:
    """Return the hash of the run that a branch went on from, and after how many experiences."""
    parent, _, place = str(run.config.get("branch") or "").partition("@")
    return parent, place


def _branch(run: Record, depth: int) -> str:
    parent, place = _origin(run)
    start = "    " * depth + ("└ " if depth else "") + (f"after {place}: " if place else "")
    lost = f" (from {parent[:8]}, not here)" if place and not depth else ""
    return f"{start}{describe(run)}, seed {run.seed}: {run.metrics.get('acc', 0.0):.2f} %{lost}"


def describe(cell: Cell | Record) -> str:
    """Name a cell or a run in words."""
    parts = [name_of(cell.dataset), name_of(cell.scenario), name_of(cell.method)]
    parts.append(name_of(cell.algorithm))
    return ", ".join(part for part in parts if part)


def _facts(
    runs: Sequence[Record], done: Sequence[Record], groups: Sequence[Cell]
) -> list[tuple[str, str]]:
    if not runs:
        return []
    seeds = sorted({run.seed for run in runs if run.seed is not None})
    facts = [
        ("Runs", f"{len(done):,} done, {len(runs) - len(done):,} failed"),
        ("Configurations", f"{len(groups):,}"),
        ("Datasets", _names([run.dataset for run in runs], DATASETS)),
        ("Scenarios", _names([run.scenario for run in runs], SCENARIOS)),
        ("Algorithms", _names([run.algorithm for run in runs], ALGORITHMS)),
    ]
    continual = [run.method for run in runs if not run.static]
    if continual:
        facts.append(("Methods", _names(continual, METHODS)))
    held = Counter(run.config.get("holdout", 0) for run in runs if not run.static)
    shares = [f"{count:,} runs of streams: {share:g}" for share, count in held.items() if share]
    if shares:
        facts.append(("Held out, to choose by", f"{', '.join(shares)}; accuracies are on test"))
    facts.append(("Seeds", _seeds(tuple(seeds)) if seeds else "unknown"))
    times = [run.seconds for run in runs if run.seconds is not None]
    if times:
        facts.append(("Computing time", f"{duration(sum(times))} in all"))
    memory = [run.peak_memory_mb for run in runs if run.peak_memory_mb is not None]
    if memory:
        facts.append(("Largest memory", f"{max(memory):,.0f} MB"))
    return facts


def _names(values: list[str], known: Sequence[str]) -> str:
    return ", ".join(name_of(value) for value in sort_keys(values, known))


def _machines(runs: Sequence[Record]) -> list[tuple[int, list[tuple[str, str]]]]:
    """Return each distinct environment with its number of runs, the commonest first."""
    texts: Counter[str] = Counter()
    for run in runs:
        if run.environment:
            texts[json.dumps(flat(run.environment), default=str)] += 1
    return [
        (count, [(key, str(value)) for key, value in json.loads(text).items()])
        for text, count in texts.most_common(8)
    ]


def _warnings(
    runs: Sequence[Record],
    done: Sequence[Record],
    lacking: Sequence[tuple[str, str]],
) -> list[str]:
    if not runs:
        return ["There are no runs yet. sffa reproduce makes them, sffa report shows them."]
    warnings = []
    failed = len(runs) - len(done)
    if failed:
        share = "all runs" if not done else f"{failed:,} of {len(runs):,} runs"
        warnings.append(f"{share[0].upper()}{share[1:]} failed and are left out of every mean.")
    if lacking:
        many = (
            "One configuration lacks"
            if len(lacking) == 1
            else f"{len(lacking):,} configurations lack"
        )
        warnings.append(f"{many} seeds that others of the same dataset and scenario have.")
    if len(done) == 1:
        warnings.append("This is a single run: there is no spread to judge it by.")
    elif done and len({run.seed for run in done}) == 1:
        warnings.append("There is a single seed: differences may be chance.")
    return warnings


def _seeds(seeds: tuple[int, ...]) -> str:
    """Write seeds as ranges.

    >>> _seeds((0, 1, 2, 5))
    '0–2, 5'
    """
    parts: list[list[int]] = []
    for seed in seeds:
        if parts and seed == parts[-1][-1] + 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)
