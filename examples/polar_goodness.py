"""Another goodness: the difference of the two energies through a sigmoid (after Polar FFA)."""

from common import accuracy, show

from sffa.core import Goodness


class Polar(Goodness):
    """p = sigmoid(E₊ − E₋); SFFA has the share E₊ / (E₊ + E₋)."""

    def log_odds(self, energies):
        return energies[0] - energies[1]


def main(seed):
    kinds = {"share": {}, "difference": {"goodness": Polar}}
    return {n: accuracy(seed, method="replay", network=k) for n, k in kinds.items()}


if __name__ == "__main__":
    show(main)
