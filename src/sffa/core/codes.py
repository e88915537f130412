"""Label codes: the vector that stands for a class and is appended to the input."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from sffa.core.seeds import generator
from sffa.errors import ConfigurationError
from sffa.extension import made, name_of

_TRIES = 10_000


class LabelCode(ABC):
    """A kind of label code: a class, an object, or ``module:Class`` as ``Network(codes=…)``.

    >>> import torch, sffa
    >>> class Binary(LabelCode):
    ...     def code(self, label, taken, size, seed):
    ...         return torch.tensor([float(label >> place & 1) for place in range(size)])
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(3), codes=Binary(), code_size=4)
    >>> tuple(net.scores(torch.eye(4)).shape)
    (4, 3)
    """

    @abstractmethod
    def code(self, label: int, taken: Tensor, size: int, seed: int) -> Tensor:
        """Return the code (size,) of a class, different from the rows of ``taken``.

        Rows are the codes of the classes met before, ``size`` is ``code_size`` of the network.
        """


def own_code(kind: LabelCode, label: int, taken: Tensor, size: int, seed: int) -> Tensor:
    """Return the code that a user's kind gives a class, if it can be one."""
    code = torch.as_tensor(made("codes", kind.code, label, taken.clone(), size, seed))
    code = code.detach().to(taken.device, torch.float32)
    if code.shape != (size,) or not bool(code.isfinite().all()):
        raise ConfigurationError(
            f"codes {name_of(kind)}: the code of class {label} must be {size} finite numbers, got "
            f"the shape {tuple(code.shape)}"
        )
    if bool((taken == code).all(dim=1).any()):
        raise ConfigurationError(
            f"codes {name_of(kind)}: class {label} has the code of another class"
        )
    return code


def symba_code(label: int, taken: Tensor, size: int, density: float, seed: int) -> Tensor:
    """Draw Bernoulli(density) bits for a class, different from the rows of ``taken``.

    The code depends on the seed and the class, not on when the class is met.

    >>> code = symba_code(3, torch.empty(0, 100), size=100, density=0.1, seed=0)
    >>> code.shape, int(code.sum())
    (torch.Size([100]), 7)
    """
    rng = generator(seed, "code", label)
    others = taken.cpu().numpy()
    for _ in range(_TRIES):
        bits = (rng.random(size) < density).astype(np.float32)
        if not (others == bits).all(axis=1).any():
            return torch.from_numpy(bits)
    raise ConfigurationError(
        f"no free code for class {label}: {size} bits of density {density} are too few for "
        f"{len(others) + 1} classes; raise code_size"
    )


def onehot_code(column: int, size: int) -> Tensor:
    """Return the unit vector of a column."""
    return torch.nn.functional.one_hot(torch.tensor(column), size).float()
