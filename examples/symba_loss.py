"""Another loss (SymBa, Lee & Song 2023): the right label's goodness above each wrong one's."""

import torch
from common import accuracy, show
from torch.nn import functional as F

from sffa.core import Objective


class Symba(Objective):
    """Each layer: mean over wrong labels of softplus(−alpha · (right − wrong)), in log-odds."""

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def losses(self, goodness, energies, target, valid):
        good = goodness.log_odds(energies)
        right = torch.where(target, good, 0.0).sum(dim=1, keepdim=True)
        wrong = (valid & ~target).float()
        apart = F.softplus(-self.alpha * (right - good)) * wrong
        return apart.sum(dim=1) / wrong.sum(dim=1).clamp(min=1)


def main(seed):
    symba = {"objective": Symba(alpha=1.0), "activity": "none"}
    kinds = {"cross-entropy of each label": {}, "SymBa": symba}
    return {n: accuracy(seed, method="replay", network=k) for n, k in kinds.items()}


if __name__ == "__main__":
    show(main)
