"""What is there, and is it sound: the datasets of the registry seen from this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sffa.data.directory import missing
from sffa.data.entry import Entry
from sffa.data.registry import REGISTRY, lookup
from sffa.data.stored import read_splits, verified_by
from sffa.errors import DataError


@dataclass(frozen=True)
class Item:
    """One dataset and whether its files are there."""

    name: str
    classes: int
    train: int
    test: int
    shape: tuple[int, ...]
    status: Literal["present", "partial", "absent"]
    verified_by: str
    sources: tuple[str, ...]
    note: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """The outcome of verifying one dataset.

    ``verified_by`` says of which files the sum is known and compared, and of which only the
    structure is: format, shape, range of labels, examples of each class.
    """

    name: str
    status: Literal["sound", "damaged", "absent"]
    verified_by: str
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)


def inventory(directory: Path) -> list[Item]:
    """List the registry, looking only at which files exist below ``directory``."""
    return [_item(entry, directory) for entry in REGISTRY.values()]


def verify(names: Sequence[str], directory: Path) -> list[Verdict]:
    """Read and verify the named datasets, or all of the registry if none is named."""
    entries = [lookup(name) for name in names] or list(REGISTRY.values())
    return [_verdict(entry, directory) for entry in entries]


def _item(entry: Entry, directory: Path) -> Item:
    absent = len(missing(entry, directory))
    whole: Literal["partial", "absent"] = "absent" if absent == len(entry.files) else "partial"
    return Item(
        entry.name,
        len(entry.class_names),
        *entry.sizes,
        entry.shape,
        "present" if not absent else whole,
        entry.verification,
        tuple(source.label for source in entry.sources),
        entry.note,
    )


def _verdict(entry: Entry, directory: Path) -> Verdict:
    how = verified_by(entry, directory)
    if entry.format == "embedded":
        return Verdict(entry.name, "sound", how)
    absent = [file.name for file in missing(entry, directory)]
    if absent:
        return Verdict(entry.name, "absent", how, f"without {', '.join(absent)}")
    try:
        read_splits(entry, directory)
    except DataError as error:
        return Verdict(entry.name, "damaged", how, str(error))
    return Verdict(entry.name, "sound", how)
