"""Dark experience replay (Buzzega 2020): stored examples, and the logits they had."""

import torch
from common import accuracy, show

from sffa.continual import Replay


class Dark(Replay):
    """Replay, and strength · ‖logits now − logits then‖² of what is stored."""

    def __init__(self, capacity: int = 50, strength: float = 0.1):
        super().__init__(capacity, policy="reservoir")
        self.strength = strength

    def after_experience(self, learner, experience):
        super().after_experience(learner, experience)
        with torch.no_grad():
            self.buffers["logits"] = learner.logits(self.buffers["x"])

    def extra_loss(self, learner, batch, clock):
        if "logits" not in self.buffers:
            return None
        then = self.buffers["logits"]
        now = learner.logits(self.buffers["x"])[..., : then.shape[-1]]
        return self.strength * (now - then).square().mean()


def main(seed):
    plain = Replay(50, policy="reservoir")
    return {
        "replay of 50": accuracy(seed, strategy=plain),
        "with their logits": accuracy(seed, strategy=Dark()),
    }


if __name__ == "__main__":
    show(main)
