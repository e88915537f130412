"""What can go wrong with a study, each in one line that says what to do."""

from __future__ import annotations

from sffa.errors import SFFAError


class StudyError(SFFAError):
    """A study that cannot run as asked, or did not run to its end.

    >>> from sffa.study import make_executor
    >>> make_executor("serial", threads=0)
    Traceback (most recent call last):
    sffa.study.errors.StudyError: ...
    """


class StoreError(SFFAError):
    """A store that cannot be opened, read or written.

    >>> from pathlib import Path
    >>> from sffa.study import Store
    >>> written = Path("notes.txt").write_text("no store")
    >>> Store("notes.txt")
    Traceback (most recent call last):
    sffa.study.errors.StoreError: ...
    """
