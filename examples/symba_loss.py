"""Another loss (SymBa, Lee & Song 2023): the right label's goodness above each wrong one's."""

import torch
from common import SMALL, accuracy, show
from torch.nn import functional as F

from sffa import Network
from sffa.core.objective import LayerLoss


class SymbaNetwork(Network):
    """Each layer: mean over wrong labels of softplus(−alpha · (right − wrong)), in log-odds."""

    alpha = 1.0

    def layer_losses(self, responses, target, valid, layer=None, *rest):
        losses = []
        trained = self.stack if layer is None else [self.stack[layer]]
        for current, response in zip(trained, responses, strict=True):
            good = current.goodness.log_odds(response.energies)
            right = torch.where(target, good, 0.0).sum(dim=1, keepdim=True)
            apart = F.softplus(-self.alpha * (right - good))
            loss = apart[valid & ~target].mean()
            losses.append(LayerLoss(loss, loss, response.activity.mean()))
        return losses


def main(seed):
    made = {"cross-entropy of each label": Network, "SymBa": SymbaNetwork}
    common = {"hidden": SMALL["hidden"], "seed": seed, "code_density": 0.2}
    return {n: accuracy(seed, learner=k(64, **common), method="replay") for n, k in made.items()}


if __name__ == "__main__":
    show(main)
