"""Another choice of wrong labels: the class whose code is most like the right one's."""

import torch
from common import accuracy, show

from sffa.core import NegativeScheme


class Alike(NegativeScheme):
    """Pair each label with one of the three whose codes share most bits with its own."""

    def draw(self, learner, x, y, rng, task=None):
        column = learner.columns(y)
        shared = learner.codes @ learner.codes.T
        shared.fill_diagonal_(-1.0)
        near = shared.topk(min(3, len(shared) - 1), dim=1).indices
        chosen = torch.from_numpy(rng.integers(0, near.shape[1], len(column)))
        return torch.stack([column, near[column, chosen]], dim=1)


def main(seed):
    kinds = {"all labels": "all", "one at random": "uniform", "one with a like code": Alike}
    return {n: accuracy(seed, method="replay", negatives=k) for n, k in kinds.items()}


if __name__ == "__main__":
    show(main)
