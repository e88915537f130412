"""Another label code: rows of a Hadamard matrix, of which any two differ in half their bits."""

import torch
from common import SMALL, accuracy, show
from scipy.linalg import hadamard

from sffa import Network


class HadamardNetwork(Network):
    def grow(self, classes, task):
        growths = super().grow(classes, task)
        size = self.config.code_size
        rows = torch.from_numpy(hadamard(size)[1:] > 0).float()
        self.codes = rows[torch.tensor(self.classes)].to(self.device)
        return growths


def main(seed):
    made = {"random bits": Network, "Hadamard": HadamardNetwork}
    common = {"hidden": SMALL["hidden"], "seed": seed, "code_size": 64, "code_density": 0.2}
    return {n: accuracy(seed, learner=k(64, **common), method="replay") for n, k in made.items()}


if __name__ == "__main__":
    show(main)
