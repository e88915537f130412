"""SFFA written the plain way: one dense pass on [latent, image, code] for every label.

This is what the formulas say, word by word, and what implementations usually do. The library's
networks compute the same numbers; here they are the baseline.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sffa.core.network import Network


class PlainSFFA(nn.Module):
    """The same function as an ungated SFFA `Network`, with its weights in one matrix a layer."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.k = network.config.k
        self.alpha = network.config.alpha
        self.codes = network.codes
        self.linear = nn.ModuleList()
        for layer in network.layers:
            parts = [p for p in (layer.latent, layer.image, layer.code) if p is not None]
            linear = nn.Linear(1, 1)
            linear.weight = nn.Parameter(torch.cat(parts).detach().t().contiguous())  # type: ignore[arg-type]
            linear.bias = nn.Parameter(layer.bias.detach().clone())  # type: ignore[operator]
            self.linear.append(linear)

    def winners(self, h: Tensor) -> Tensor:
        """Silence all but the k most active neurons of a half."""
        best = h.topk(self.k, dim=1).indices
        return h * torch.zeros_like(h).scatter_(1, best, 1.0)

    def passes(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return goodness and mean activity (layers, batch, labels), a pass for every label."""
        goodness, activity = [], []
        for code in self.codes:
            seen = torch.cat([x, code.expand(len(x), -1)], dim=1)
            latent = None
            per_layer, active = [], []
            for linear in self.linear:
                joined = seen if latent is None else torch.cat([latent, seen], dim=1)
                halves = torch.sigmoid(linear(joined)).chunk(2, dim=1)
                positive, negative = (self.winners(half) for half in halves)
                up, down = positive.square().sum(1), negative.square().sum(1)
                per_layer.append((up + 1e-9) / (up + down + 2e-9))
                active.append(torch.cat([positive, negative], dim=1).mean(1))
                normal = (positive / up[:, None].sqrt(), negative / down[:, None].sqrt())
                latent = torch.cat(normal, dim=1).detach()
            goodness.append(torch.stack(per_layer))
            activity.append(torch.stack(active))
        return torch.stack(goodness, dim=2), torch.stack(activity, dim=2)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the sum over layers of cross-entropy times the activity term."""
        goodness, activity = self.passes(x)
        target = nn.functional.one_hot(y, len(self.codes)).bool()
        right = torch.where(target, goodness, 1 - goodness).clamp(1e-4, 1 - 1e-4)
        bce = -right.log().mean(dim=(1, 2))
        total = activity[:, target].mean(1) + activity[:, ~target].mean(1)
        return (bce * (1 + torch.exp(-self.alpha * total))).sum()

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        """Return the label of the largest mean goodness."""
        return self.passes(x)[0].mean(dim=0).argmax(dim=1)
