# %% [markdown]
# # Watch it forget, and cure it
#
# A network learns two digits, then two others, five times. It is never shown the earlier ones
# again, and in the end it is asked about all ten: *Class-incremental learning*, the hardest of the
# [three scenarios](../method.md#three-scenarios).

# %%
from sffa.continual import ContinualConfig, run
from sffa.data import load

data = load("digits")
common = {"dataset": "digits", "hidden": (200, 200), "batch_size": 32, "epochs": 5, "lr": 3e-3}

naive = run(ContinualConfig(**common, method="naive"), data)
naive.metrics

# %% [markdown]
# `acc` is the accuracy over all ten digits at the end, `fgt` what was lost since each pair was
# learned ([formulas](../method.md#metrics)). The matrix tells when it was lost: a row after each
# pair, a column for each pair.

# %%
print(naive.matrix[1:].round(1))

# %% [markdown]
# Each row has one good number: the pair at hand. Learning *these two, not the others* pushes down
# the goodness of every label learned before.
#
# ## First cure: keep some examples
#
# `replay` keeps examples and trains on them beside the new ones.

# %%
kept = {"replay.capacity": 100}
replay = run(ContinualConfig(**common, method="replay", options=kept), data)
print(replay.matrix[1:].round(1))
replay.metrics

# %% [markdown]
# ## Second cure: keep no example at all
#
# With `gaussian` each class leaves statistics of its images, a few means and directions in which
# they vary, and later steps learn from images drawn from these. `sffa-contrast` is SFFA whose
# labels compete within each layer.

# %%
gaussian = run(ContinualConfig(**common, method="gaussian", algorithm="sffa-contrast"), data)
print(gaussian.matrix[1:].round(1))
gaussian.metrics

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5.2, 2.8))
for name, result in {"naive": naive, "replay": replay, "gaussian": gaussian}.items():
    axes.plot(range(2, 11, 2), result.curve, marker="o", label=name)
axes.set(xlabel="digits learned", ylabel="accuracy on these, %", ylim=(0, 100))
axes.legend()
plt.show()

# %% [markdown]
# ## Who pays what
#
# The statistics are larger than a hundred of these tiny images; on images of 28 × 28 they take
# 1.65 MB beside the 0.39 MB of 500 examples, and end higher
# ([figure](../index.md#what-it-reaches)). They hold no image of anybody.

# %%
for name, result in {"replay": replay, "gaussian": gaussian}.items():
    print(f"{name:9} {result.experiences[-1]['strategy_mb']:.3f} MB")

# %% [markdown]
# On the command line, all three with SFFA: `sffa continual --dataset digits --method
# naive,replay,gaussian --hidden 200,200 --batch-size 32 --epochs 5 --lr 3e-3`. Which method to
# take: [choose a method](../howto/choose.md). What `gaussian` remembers: `sffa analyze memory`.
#
# Next: [a table that meets new classes](new_classes.md).
