"""What results cost: time and memory of the runs, and of a whole study."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from sffa.record import Record
from sffa.report.sections import Section, TextTable
from sffa.report.tables import NONE
from sffa.study.estimate import Estimator, duration
from sffa.study.presets import STUDIES, hashes
from sffa.vocabulary import SCENARIOS, name_of, rank_of

_SLOTS = 2


def costs_section(runs: Sequence[Record]) -> Section:
    """Return the computing time and memory by scenario and algorithm, and of whole studies."""
    done = [run for run in runs if run.seconds is not None and run.done]
    members: dict[tuple[str, str], list[Record]] = {}
    for run in done:
        members.setdefault((run.scenario, run.algorithm), []).append(run)
    rows = []
    for place in sorted(members, key=lambda key: (rank_of(SCENARIOS, key[0]), key[1])):
        taken = [run.seconds or 0.0 for run in members[place]]
        memory = [run.peak_memory_mb for run in members[place] if run.peak_memory_mb]
        words = [str(len(taken)), duration(statistics.median(taken)), duration(sum(taken))]
        words.append(f"{statistics.median(memory):,.0f} MB" if memory else NONE)
        rows.append([name_of(place[0]), name_of(place[1]), *words])
    titles = ["Scenario", "Algorithm", "Runs", "Median of a run", "In all", "Median of the memory"]
    failed = sum(not run.done for run in runs)
    text = (
        f"Together {duration(sum(run.seconds or 0.0 for run in done))}, each run counted by the "
        "clock; runs side by side on one machine count twice. Memory is the largest of the process."
    )
    text += f" {failed} runs failed and are not in the tables." if failed else ""
    return Section("Time and memory", [TextTable(titles, rows), text, *_studies(done)])


def _studies(done: Sequence[Record]) -> list[str | TextTable]:
    """Return what each study that has been begun costs; what two share tells of the first."""
    estimator = Estimator(done)
    known = {record.config_hash for record in done}
    rows = []
    for name, study in STUDIES.items():
        own = hashes(name) & known
        known -= own
        if own:
            cells, seeds = study.restricted(seeds=study.seeds[:1]).runs(), len(study.seeds)
            expected = duration(seeds * estimator.total(cells, _SLOTS)[0])
            rows.append([f"sffa reproduce {name}", f"{seeds * len(cells):,}", expected])
    if not rows:
        return []
    about = (
        "A whole study on two cores, two runs at a time, by the medians of runs like those it has; "
        "runs of data that is not at hand count as others of their size."
    )
    return [about, TextTable(["Study", "Runs", "Two cores"], rows)]
