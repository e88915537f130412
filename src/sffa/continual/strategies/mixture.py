"""Mixtures of low-rank Gaussians: fitted by moments, merged by moments, drawn from.

A part of weight n is a Gaussian with mean m and covariance SᵀS + diag(r²): S holds ``rank``
directions, each as long as the deviation along it, and r is what they leave of each feature's
deviation. So mean and variance of every feature are exact, and stay so when parts are merged.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray[Any, Any]
_LLOYD = 10  # rounds of k-means
_POWER = 2  # rounds that sharpen the directions
_MORE = 8  # directions beyond those wanted, while they are sought
_GATHER = 1 << 18  # numbers of directions gathered at once, where that is quicker than a loop
_LEAST = 10  # examples a part stands for, so that no part is an example


@dataclass(frozen=True)
class Mixture:
    """``count`` (parts,), ``mean`` and ``residual`` (parts, D), ``spread`` (parts, rank, D)."""

    count: Tensor
    mean: Tensor
    spread: Tensor
    residual: Tensor

    def __len__(self) -> int:
        return len(self.count)

    def take(self, places: Tensor) -> Mixture:
        """Return the parts at some places."""
        return Mixture(*(getattr(self, each.name).index_select(0, places) for each in fields(self)))

    def replaced(self, places: Tensor, others: Mixture) -> Mixture:
        """Return the mixture with other parts at some places."""
        return Mixture(
            *(
                getattr(self, field.name).index_put((places,), getattr(others, field.name))
                for field in fields(self)
            )
        )


def concatenate(mixtures: list[Mixture]) -> Mixture:
    """Return the parts of several mixtures as one."""
    names = [field.name for field in fields(Mixture)]
    return Mixture(*(torch.cat([getattr(each, name) for each in mixtures]) for name in names))


def fit(x: Tensor, parts: int, rank: int, rng: np.random.Generator) -> Mixture:
    """Return the mixture of examples (N, D): a Gaussian for each part that k-means finds.

    There are fewer parts where there are too few examples for them.
    """
    wanted = max(min(parts, len(x) // _LEAST), 1)
    if wanted == 1:
        return _gaussian(x, rank, rng)
    nearest = _k_means(x, wanted, rng)
    found = [_gaussian(x[nearest == part], rank, rng) for part in torch.unique(nearest)]
    return reduced(concatenate(found), parts)


def _gaussian(x: Tensor, rank: int, rng: np.random.Generator) -> Mixture:
    """Return the one part of examples (n, D), its directions by a randomised SVD (Halko 2011)."""
    if len(x) == 1:
        return alone(x, rank)
    mean = x.mean(dim=0)
    away = (x - mean) / len(x) ** 0.5
    width = min(rank + _MORE, *x.shape)
    sketch = torch.from_numpy(rng.standard_normal((x.shape[1], width), dtype=np.float32))
    for _ in range(_POWER):
        sketch = away.T @ torch.linalg.qr(away @ sketch).Q
    basis = torch.linalg.qr(away @ sketch).Q
    spread, residual = _split(basis.T @ away, away.square().sum(dim=0), rank)
    return Mixture(torch.tensor([float(len(x))]), mean[None], spread[None], residual[None])


def alone(x: Tensor, rank: int) -> Mixture:
    """Return the part of a single example (1, D), which has no directions."""
    return Mixture(torch.ones(1), x, x.new_zeros(1, rank, x.shape[1]), torch.zeros_like(x))


def _split(rows: Tensor, variance: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Return the ``rank`` main directions of rows (n, D), and the deviations that they leave."""
    wide = rows.double()
    left = torch.linalg.eigh(wide @ wide.T).eigenvectors  # an SVD would take longer
    main = (left.T.flip(0)[:rank] @ wide).float()
    spread = main
    if len(main) < rank:
        spread = torch.cat([main, rows.new_zeros(rank - len(main), rows.shape[1])])
    return spread, (variance - main.square().sum(dim=0)).clamp(min=0).sqrt()


def reduced(mixture: Mixture, parts: int) -> Mixture:
    """Merge parts until there are no more than ``parts``, and none stands for too few examples.

    The pair to merge is the one whose means lose least by it (Ward 1963).
    """
    while len(mixture) > 1:
        few = mixture.count < _LEAST
        if len(mixture) <= parts and not bool(few.any()):
            break
        if len(mixture) == 2:
            return _merged(mixture)
        n = mixture.count
        loss = torch.cdist(mixture.mean, mixture.mean).square() * (
            n * n[:, None] / (n + n[:, None])
        )
        loss.fill_diagonal_(torch.inf)
        if len(mixture) <= parts:
            loss[~few] = torch.inf
        one, other = divmod(int(loss.argmin()), len(mixture))
        rest = torch.tensor([p for p in range(len(mixture)) if p not in (one, other)]).long()
        joined = _merged(mixture.take(torch.tensor([one, other])))
        mixture = concatenate([mixture.take(rest), joined])
    return mixture


def _merged(pair: Mixture) -> Mixture:
    """Return two parts as one with their common mean and, but for its directions, covariance."""
    total = pair.count.sum()
    share = pair.count / total
    mean = share @ pair.mean
    apart = share.prod().sqrt() * (pair.mean[0] - pair.mean[1])
    filled = pair.spread.any(dim=2)  # an example that comes alone has no directions
    spread = (share.sqrt()[:, None, None] * pair.spread)[filled]
    rows = torch.cat([spread, apart[None]])
    variance = share @ pair.residual.square() + rows.square().sum(dim=0)
    spread, residual = _split(rows, variance, pair.spread.shape[1])
    return Mixture(total[None], mean[None], spread[None], residual[None])


def join_example(mixture: Mixture, places: Array, x: Array) -> bool:
    """Let one example (D,) join the nearest of the parts at some places, in place.

    It is what `reduced` comes to, in a quarter of the time: a stream of single rows does nothing
    else. Return whether it was done: not where another part stands for too few examples, and is to
    be merged too.
    """
    count, mean, spread, residual = (getattr(mixture, f.name).numpy() for f in fields(mixture))
    counts = count[places]
    if len(places) > 1 and counts.min() < _LEAST:
        return False
    away = np.square(mean[places] - x).sum(axis=1) * (counts / (counts + 1))
    place = places[away.argmin()]
    share = count[place] / (count[place] + 1)
    apart = np.sqrt(share * (1 - share)) * (mean[place] - x)
    rows = np.concatenate([np.sqrt(share) * spread[place], apart[None]])
    variance = share * np.square(residual[place]) + np.square(rows).sum(axis=0)
    wide = rows.astype(np.float64)
    main = np.linalg.eigh(wide @ wide.T)[1].T[:0:-1] @ wide
    count[place] += 1
    mean[place] += (1 - share) * (x - mean[place])
    spread[place] = main
    residual[place] = np.sqrt(np.maximum(variance - np.square(spread[place]).sum(axis=0), 0))
    return True


def draw(mixture: Mixture, parts: Tensor, rng: np.random.Generator) -> Tensor:
    """Draw one pseudo-example from each of ``parts`` (N,): (N, D)."""
    rank, features = mixture.spread.shape[1:]
    along = torch.from_numpy(rng.standard_normal((len(parts), rank), dtype=np.float32))
    x = torch.from_numpy(rng.standard_normal((len(parts), features), dtype=np.float32))
    if len(parts) * rank * features <= _GATHER:
        of = mixture.take(parts)
        return x.mul_(of.residual).add_(of.mean).add_(torch.bmm(along[:, None], of.spread)[:, 0])
    for part in torch.unique(parts):
        rows = parts == part
        noise = x[rows] * mixture.residual[part]
        x[rows] = noise.addmm_(along[rows], mixture.spread[part]).add_(mixture.mean[part])
    return x


def _k_means(x: Tensor, parts: int, rng: np.random.Generator) -> Tensor:
    """Return the part of each example (N,): k-means++ (Arthur 2007), then some rounds of Lloyd."""
    centres = x[[int(rng.integers(len(x)))]]
    for _ in range(parts - 1):
        far = torch.cdist(x, centres).square().amin(dim=1).double().cumsum(dim=0)
        if not float(far[-1]) > 0:  # fewer different examples than parts
            break
        chosen = torch.searchsorted(far, torch.tensor([rng.random()]).double() * far[-1])
        centres = torch.cat([centres, x[chosen.clamp(max=len(x) - 1)]])
    nearest = torch.zeros(len(x), dtype=torch.long)
    for _ in range(_LLOYD):
        nearest = torch.cdist(x, centres).argmin(dim=1)
        here = torch.nn.functional.one_hot(nearest, len(centres)).to(x.dtype)
        sizes = here.sum(dim=0)[:, None]
        centres = torch.where(sizes > 0, here.T @ x / sizes.clamp(min=1), centres)
    return nearest
