"""What the registry knows of a dataset: its files, their sums, and where to get them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from sffa.data.origins import Origin
from sffa.data.progress import Meter

STRUCTURE = "structure"


@dataclass(frozen=True)
class File:
    """One file of a dataset, kept as ``name`` or ``name.gz``.

    ``sha256`` is of the decompressed content. Where it is not known for certain, ``gz_sha256``
    is of the .gz file as published, and where neither is, only the structure is verified.
    """

    name: str
    shape: tuple[int, ...]
    sha256: str = ""
    gz_sha256: str = ""

    @property
    def verification(self) -> str:
        """How the file is verified, in a few words."""
        return self.verified(gz=True)

    def verified(self, *, gz: bool) -> str:
        """Return how the file is verified if it lies here gzipped, or raw.

        Of a raw file whose sum is known of the .gz only, nothing but the structure is verified.
        """
        if self.sha256:
            return "sha256"
        return "sha256 of .gz" if self.gz_sha256 and gz else STRUCTURE


class Source(Protocol):
    """A place that can deliver the files of one dataset."""

    @property
    def label(self) -> str:
        """Name of the place for messages."""

    def deliver(self, files: Sequence[File], folder: Path, meter: Meter) -> None:
        """Put each of ``files`` into ``folder`` as ``name`` or ``name.gz``, unverified.

        Raises ``DownloadError`` where the place cannot be reached or lacks the files.
        """


@dataclass(frozen=True)
class Entry:
    """One dataset of the registry.

    ``train`` and ``test`` are (images, labels) of format ``idx``, or record files of ``cifar``.
    Labels in the files start at ``first_label``; ``transposed`` images are stored column by
    column; ``balanced`` classes all have the same number of examples.
    """

    name: str
    class_names: tuple[str, ...]
    shape: tuple[int, ...]
    train: tuple[File, ...] = ()
    test: tuple[File, ...] = ()
    sizes: tuple[int, int] = (0, 0)
    format: Literal["idx", "cifar", "embedded"] = "idx"
    sources: tuple[Source, ...] = ()
    first_label: int = 0
    transposed: bool = False
    balanced: bool = False
    moments: tuple[float, float] | None = None
    note: str = ""
    origin: Origin | None = None

    @property
    def files(self) -> tuple[File, ...]:
        """Every file of both splits."""
        return self.train + self.test

    @property
    def verification(self) -> str:
        """How the dataset is verified, in a few words.

        >>> files = File("images", (1, 2, 2), sha256="ab"), File("labels", (1,))
        >>> Entry("toy", ("a", "b"), (2, 2), train=files).verification
        'sha256 (1 file), structure only (1 file)'
        """
        if self.format == "embedded":
            return "part of scikit-learn"
        return summarise([file.verification for file in self.files])


def summarise(kinds: Sequence[str]) -> str:
    """Return in a few words how the files of a dataset are verified, one kind for each file.

    ``structure`` is the format, the shape, the range of labels and the examples of each class.
    """
    counts = Counter(kinds)
    if len(counts) == 1:
        kind = next(iter(counts))
        return kind if kind != STRUCTURE else "structure only, no sum is known"
    return ", ".join(
        f"{kind}{' only' if kind == STRUCTURE else ''} ({count} file{'s' if count > 1 else ''})"
        for kind, count in counts.items()
    )
