"""How large a network is, known before anything of it is made."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from sffa.errors import ConfigurationError

# Weights, gradients and Adam's two moments, four bytes each.
_BYTES = 16


def count_parameters(inputs: int, hidden: Iterable[int], code: int | None) -> int:
    """Return the weights of all layers; ``code`` is the bits of a label code, None without codes.

    >>> count_parameters(784, (1400, 1400), 100), count_parameters(784, (1400, 1400), None)
    (4435200, 3057600)
    """
    widths = list(hidden)
    between = sum(below * above for below, above in pairwise(widths))
    if code is None:
        return inputs * widths[0] + between
    return sum(widths) * (inputs + code) + between


def check_memory(inputs: int, hidden: Iterable[int], code: object) -> None:
    """Refuse a network that this machine could not train, before it asks for the memory."""
    import psutil

    widths = list(hidden)
    code = code if code is None or isinstance(code, int) else 0
    needed, there = count_parameters(inputs, widths, code) * _BYTES, psutil.virtual_memory().total
    if needed > there:
        shown = f"{needed / 2**30:,.1f}" if needed < 2**60 else f"{needed / 2**30:.1e}"
        raise ConfigurationError(
            f"hidden layers of {', '.join(str(width)[:20] for width in widths[:5])} need {shown} "
            f"GB to train, this machine has {there / 2**30:,.1f} GB: make them narrower"
        )
