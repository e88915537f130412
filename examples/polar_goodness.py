"""Another goodness: the difference of the two energies through a sigmoid (after Polar FFA)."""

import torch
from common import SMALL, accuracy, show
from torch.nn import functional as F

from sffa import Network


class Polar:
    """p = sigmoid(E₊ − E₋); SFFA has the share E₊ / (E₊ + E₋)."""

    def log_odds(self, energies):
        return energies[0] - energies[1]

    def probability(self, energies):
        return torch.sigmoid(self.log_odds(energies))

    score = log_odds  # what labels are ranked by

    def bce(self, energies, target):
        return F.softplus(torch.where(target, -1.0, 1.0) * self.log_odds(energies))


class PolarNetwork(Network):
    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        for layer in self.stack:
            layer.goodness = Polar()


def main(seed):
    made = {"share": Network, "difference": PolarNetwork}
    common = {"hidden": SMALL["hidden"], "seed": seed, "code_density": 0.2}
    return {n: accuracy(seed, learner=k(64, **common), method="replay") for n, k in made.items()}


if __name__ == "__main__":
    show(main)
