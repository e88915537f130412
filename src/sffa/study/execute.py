"""Doing one run in this process, from configuration to record."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from sffa import continual
from sffa._version import __version__
from sffa.data import Dataset, load
from sffa.environment import describe
from sffa.extension import code_of
from sffa.record import Record
from sffa.study.configuration import parse
from sffa.study.datasets import own_data
from sffa.study.errors import StudyError
from sffa.study.static import StaticConfig, run_static
from sffa.study.unfinished import run_resumable


def execute(values: dict[str, Any], unfinished: Path | None = None) -> Record:
    """Do the run of a configuration; return its record.

    ``unfinished`` is a folder for static runs that are cut off: the next call goes on from there.

    >>> from sffa.study import StaticConfig
    >>> config = StaticConfig(
    ...     dataset="digits", algorithm="bp", negatives="none", hidden=(20,), epochs=1, holdout=0
    ... )
    >>> execute(config.model_dump()).done
    True
    """
    environment = describe()  # before the run: files may change while it takes its time
    run = parse(values)
    data = None
    if run.needs_data:
        data = _dataset(str(values["dataset"]))
        if own_data(str(values["dataset"])):
            environment["data"] = data.checksum
    if code := code_of(run.values):
        environment["code"] = code
    if isinstance(run.config, StaticConfig):
        if unfinished is not None and data is not None:
            return run_resumable(run.config, data, environment, unfinished)
        return run_static(run.config, data, environment=environment)
    return continual.run(run.config, data).record(environment)


def execute_text(
    text: str, threads: int, version: str = __version__, unfinished: Path | None = None
) -> str:
    """Do a run for another process: JSON in, JSON out, with so many threads."""
    from sffa.study.threads import limit

    if version != __version__:
        raise StudyError(
            f"this worker has sffa {__version__}, the study was started with {version}; "
            "install the same version everywhere"
        )
    limit(threads)
    return json.dumps(execute(json.loads(text), unfinished).to_json())


@functools.lru_cache(maxsize=2)
def _dataset(name: str) -> Dataset:
    """Load a dataset once a process."""
    return load(name)
