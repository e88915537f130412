"""What gaussian keeps, looked at: means and draws resemble the class, and the picture is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from sffa.analysis import memory_of
from sffa.data import load
from sffa.errors import DataError
from sffa.report import figures


def test_draws_resemble_their_own_class_more_than_any_other() -> None:
    data = load("digits")
    found, megabytes = memory_of(data, samples=40, parts=2, rank=10)
    centres = np.stack([data.train.flat[data.train.y == n].mean(axis=0) / 255 for n in range(10)])
    drawn = np.stack([each.drawn.mean(axis=0) for each in found])
    distance = ((drawn[:, None] - centres[None]) ** 2).sum(axis=2)
    assert (distance.argmin(axis=1) == np.arange(10)).all()
    assert {len(each.means) for each in found} == {2}
    assert 0 < megabytes < 0.1


def test_the_picture_names_every_class() -> None:
    data = load("digits")
    found, megabytes = memory_of(data, samples=2, parts=1, rank=2)
    drawing = figures.memory(found, data.shape, data.class_names, data.name, megabytes)
    assert drawing.name == "memory-digits"
    assert drawing.png()[:4] == b"\x89PNG"


def test_no_sample_is_one_clear_line() -> None:
    with pytest.raises(DataError, match="at least one sample"):
        memory_of(load("digits"), samples=0)
