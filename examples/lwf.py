"""Learning without forgetting (Li & Hoiem 2016): hold the outputs that the last network had."""

import copy

import torch
from common import accuracy, show

from sffa.continual import Strategy


class LwF(Strategy):
    """Add KL(old outputs ‖ new outputs) over the labels of every earlier task, on new examples."""

    transient = frozenset({"teacher", "known"})

    def before_experience(self, learner, experience):
        self.teacher = copy.deepcopy(learner)
        self.known = [task for task in learner.tasks if task != experience.task]

    def extra_loss(self, learner, batch, clock):
        if not self.known:
            return None
        terms = []
        for task in self.known:
            with torch.no_grad():
                old = self.teacher.logits(batch.x, task).log_softmax(-1)
            new = learner.logits(batch.x, task).log_softmax(-1)
            terms.append((old.exp() * (old - new)).sum(-1).mean())
        return torch.stack(terms).mean()


def main(seed):
    task = {"seed": seed, "scenario": "task"}
    return {"naive": accuracy(**task), "LwF": accuracy(strategy=LwF(), **task)}


if __name__ == "__main__":
    show(main)
