"""What can go wrong with a study, each in one line that says what to do."""

from __future__ import annotations

from sffa.errors import SFFAError


class StudyError(SFFAError):
    """A study that cannot run as asked, or did not run to its end."""


class StoreError(SFFAError):
    """A store that cannot be opened, read or written."""
