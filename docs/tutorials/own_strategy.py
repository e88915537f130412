# %% [markdown]
# # Your own strategy in thirty lines
#
# A strategy is an object with hooks around each step. It never asks which algorithm it protects, so
# it works with SFFA, FFA and back-propagation alike. Here is one: of each class it keeps the few
# examples nearest to the class's mean, and trains on them beside the new ones.

# %%
import torch

from sffa.continual import Batch, ContinualConfig, Strategy, run
from sffa.data import load


class Typical(Strategy):
    """Replay of the examples nearest to the mean of their class."""

    def __init__(self, each: int = 10, *, seed: int = 0, batch_size: int = 512) -> None:
        super().__init__(seed, batch_size)
        self.each = each  # annotated arguments are options: their values are checked

    def extra_batch(self, clock):
        """Return, before every step, examples to learn together with the new ones."""
        if not self.buffers:
            return None
        x, y, task = (self.buffers[name] for name in ("x", "y", "task"))
        return Batch(x, y, None if task[0] < 0 else task)

    def after_experience(self, learner, experience):
        """Remember, when an experience is over, what later ones need."""
        kept = [self.buffers] if self.buffers else []
        batch = experience.train.take(slice(None))
        for label in batch.y.unique():
            own = batch.y == label
            x = batch.x[own]
            distance = (x.float() - x.float().mean(dim=0)).square().sum(dim=1)
            places = distance.argsort()[: self.each]
            task = torch.full((len(places),), -1 if experience.task is None else experience.task)
            kept.append({"x": x[places], "y": batch.y[own][places], "task": task})
        self.buffers = {name: torch.cat([part[name] for part in kept]) for name in kept[-1]}


# %% [markdown]
# What is put into `buffers` is what a checkpoint saves and what a record counts as memory. Nothing
# else is needed for a run that is stopped to go on to the same bits.
#
# ## Is it right?
#
# `check_strategy` tries what a run relies on: several learners, three scenarios, a stop and a
# resumption, no use of global random numbers.

# %%
from sffa.testing import check_strategy

check_strategy(Typical)

# %% [markdown]
# ## Is it good?
#
# Beside naive and replay, which here keeps as many examples at random:

# %%
data = load("digits")
small = {"dataset": "digits", "hidden": (100, 100), "batch_size": 64, "lr": 3e-3, "epochs": 5}

for algorithm in ("sffa", "bp"):
    config = ContinualConfig(**small, algorithm=algorithm)
    print(f"{algorithm:5} typical {run(config, data, strategy=Typical()).metrics['acc']:5.1f} %")
    for method, options in {"naive": {}, "replay": {"replay.capacity": 100}}.items():
        config = ContinualConfig(**small, algorithm=algorithm, method=method, options=options)
        print(f"{algorithm:5} {method:7} {run(config, data).metrics['acc']:5.1f} %")

# %% [markdown]
# One seed tells little: [a study](../extending.md#a-study) runs it over seeds, resumable, with
# tables. There the class is named by its file, as `ideas:Typical`.
#
# All hooks: [your own ideas](../extending.md). Next: [a cell of the paper](reproduce.md).
