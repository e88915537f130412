"""Where the files of datasets live on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from sffa.data.entry import Entry, File

VARIABLE = "SFFA_DATA_DIR"


def data_dir(explicit: str | os.PathLike[str] | None = None) -> Path:
    """Return the directory of datasets: as told, else ``SFFA_DATA_DIR``, else a per-user cache."""
    told = explicit or os.environ.get(VARIABLE)
    if told:
        return Path(told).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("sffa") / "data"


def find(entry: Entry, file: File, directory: Path) -> Path | None:
    """Return the path of ``file`` below ``directory``, gzipped or raw, or None if absent."""
    folder = directory / entry.name
    for path in (folder / f"{file.name}.gz", folder / file.name):
        if path.is_file():
            return path
    return None


def missing(entry: Entry, directory: Path) -> list[File]:
    """Return the files of ``entry`` that are absent below ``directory``."""
    return [file for file in entry.files if find(entry, file, directory) is None]
