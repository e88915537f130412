"""Whether the classes that a user wrote are still what they were when runs were made."""

from __future__ import annotations

from collections.abc import Iterable

from sffa.extension import code_of
from sffa.record import Record
from sffa.study.errors import StudyError


def is_current(record: Record) -> bool:
    """Whether the sources of the classes that a record names are those it was made with.

    A record that does not say what they were, and a class that is not imported, pass.
    """
    kept = record.environment.get("code")
    if not isinstance(kept, dict):
        return True
    return all(kept.get(name, now) == now for name, now in code_of(record.config).items())


def check_code(records: Iterable[Record]) -> None:
    """Refuse to go on with, or to show, records of classes that have changed since."""
    old = [record for record in records if not is_current(record)]
    if old:
        now = code_of(old[0].config)
        name = next(n for n in now if old[0].environment["code"].get(n) != now[n])
        raise StudyError(
            f"the source of {name} has changed since {len(old)} of these runs were made: give the "
            "changed class another name, or use another --store"
        )
