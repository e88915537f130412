"""What each matrix of weights is multiplied by, for whoever keeps past answers as they were."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class WeightInputs(NamedTuple):
    """Inputs (n, size) of the parameter ``name``, which has them along ``axis``.

    The ``axis`` of a bias is None: its input is 1.
    """

    name: str
    axis: int | None
    inputs: Tensor
