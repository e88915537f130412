"""The notes of a model file that commands go by, checked: a stranger may have written them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from sffa.core import Epoch, Learner
from sffa.core.storage import read
from sffa.core.training_state import said
from sffa.errors import ModelFileError

_Side = Annotated[int, Field(ge=1, lt=2**31, strict=True)]
_Name = Annotated[str, Field(max_length=10_000)]
_Names = Annotated[list[_Name], Field(max_length=1_000_000)]
_Columns = Annotated[
    tuple[tuple[_Name, Annotated[tuple[_Name, ...], Field(max_length=1000)] | None], ...],
    Field(max_length=100_000),
]


class Notes(BaseModel):
    """What a model file says of its data and its training; anything but this is left alone."""

    dataset: str | None = None
    source: str | None = None
    algorithm: str | None = None
    shape: Annotated[list[_Side], Field(min_length=1, max_length=8)] | None = None
    class_names: _Names | None = None
    whole_pixels: bool = False
    columns: _Columns = ()
    run: dict[str, Any] | None = None
    history: list[Epoch] = []
    begun: dict[str, Any] = {}

    def shape_for(self, learner: Learner) -> tuple[int, ...]:
        """Return the shape of an example; one that does not fit the learner is refused."""
        shape = tuple(self.shape or (learner.inputs,))
        if math.prod(shape) != learner.inputs:
            raise ModelFileError(
                f"the model takes {learner.inputs} features, but its notes tell of {shape}"
            )
        return shape

    def names_for(self, learner: Learner) -> list[str] | None:
        """Return the names of the classes, if there is one for each."""
        names = self.class_names
        if names is not None and learner.classes and max(learner.classes) >= len(names):
            raise ModelFileError(
                f"the model knows class {max(learner.classes)}, but its notes name {len(names)}"
            )
        return names


def notes_of(path: Path) -> Notes:
    """Read and check the notes of a model file."""
    try:
        notes = Notes(**read(path)[0].notes)
    except (ValidationError, TypeError) as error:
        raise ModelFileError(f"the notes of {path} cannot be used: {said(error)}") from None
    finite = all(
        math.isfinite(value)
        for epoch in notes.history
        for value in (epoch.loss, epoch.seconds, *epoch.accuracy.values())
    )
    if not finite or not all("test" in epoch.accuracy for epoch in notes.history):
        raise ModelFileError(f"the notes of {path} cannot be used: an epoch without its accuracy")
    return notes
