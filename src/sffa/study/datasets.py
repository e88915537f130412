"""Whether the datasets of runs are at hand, and still what they were."""

from __future__ import annotations

from collections.abc import Iterable

from sffa.data import load, names
from sffa.errors import SFFAError
from sffa.record import Record
from sffa.study.configuration import Run
from sffa.study.errors import StudyError


def own_data(dataset: str) -> bool:
    """Whether a dataset is a file or folder of the user, which may change."""
    return dataset.removeprefix("split-") not in names()


def check_data(records: Iterable[Record], datasets: Iterable[str]) -> None:
    """Refuse to go on with records of data that have changed since."""
    own = {name: load(name).checksum for name in datasets if own_data(name)}
    known = [record for record in records if record.cell[0] in own and "data" in record.environment]
    old = [record for record in known if record.environment["data"] != own[record.cell[0]]]
    if old:
        raise StudyError(
            f"{old[0].cell[0]} has changed since {len(old)} of these runs were made: give the new "
            "data a name of their own, or use another --store"
        )


def unavailable(runs: Iterable[Run]) -> dict[str, str]:
    """Return the datasets of runs that can neither be read nor fetched, each with the reason.

    Done once, before workers start: they find the files in place, and a dataset that cannot be
    had costs one attempt rather than one for each run.
    """
    names = dict.fromkeys(str(run.values["dataset"]) for run in runs if run.needs_data)
    missing = {}
    for name in names:
        try:
            load(name)
        except SFFAError as error:
            missing[name] = str(error)
    return missing
