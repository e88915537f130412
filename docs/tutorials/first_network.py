# %% [markdown]
# # A first network
#
# Eight by eight pixels, ten digits, a few seconds. The data come with scikit-learn.

# %%
import sffa
from sffa.data import load

data = load("digits")
print(data.train.flat.shape, data.test.flat.shape, data.classes)

# %% [markdown]
# ## Train
#
# A network with two layers of 200 neurons; in each, 100 speak *for* a pair of image and label and
# 100 *against* it. Classes and the scale of the pixels are taken from what `fit` is given.

# %%
net = sffa.Network(data.features, hidden=(200, 200), seed=0)
trainer = sffa.Trainer(net, lr=3e-3)
trainer.fit(data.train.flat, data.train.y, epochs=10, batch_size=32)
net

# %%
from sffa.core import accuracy

together, layers = accuracy(net, data.test.flat, data.test.y)
print(f"{together:.1f} % of {len(data.test)} test images")

# %% [markdown]
# No error travelled from the top down: each layer has a loss of its own. So each layer is a
# classifier of its own, too.

# %%
print([f"layer {number}: {percent:.1f} %" for number, percent in enumerate(layers, start=1)])

# %% [markdown]
# ## Ask about every label
#
# A forward-forward network has no output neurons for the classes. It is asked about an image with
# each label in turn and answers with a *goodness* between 0 and 1: the share of the energy of the
# neurons that say yes. The largest wins. This is the label scan.

# %%
import matplotlib.pyplot as plt

image, truth = data.test.flat[:1], int(data.test.y[0])
goodness = net.scores(image)[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(6, 2.2), width_ratios=(1, 2.4))
left.imshow(image.reshape(8, 8), cmap="gray_r")
left.set(title=f"a {truth}", xticks=[], yticks=[])
left.grid(False)
right.bar(range(10), goodness, color=["#0072b2" if c == truth else "#8a8f98" for c in range(10)])
right.set(xlabel="label it was shown with", ylabel="goodness", xticks=range(10))
plt.show()

# %% [markdown]
# ## Few neurons answer
#
# In each half only the 15 most active neurons keep their value. The Hoyer score is 0 if all neurons
# are equally active and 1 if a single one is; here for images with their label (positive) and with
# a wrong one (negative).

# %%
import numpy as np

from sffa.analysis import sparsity_of

sparsity_of(net, data.test.flat, data.test.y, np.random.default_rng(0)).mean_hoyer()

# %% [markdown]
# ## Keep it
#
# A model is one file of tensors with a readable header; loading it runs no code.

# %%
net.save("digits.safetensors")
again = sffa.load("digits.safetensors")
assert (again.predict(data.test.flat) == net.predict(data.test.flat)).all()

# %% [markdown]
# The same on the command line: `sffa train --dataset digits --hidden 200,200 --lr 3e-3
# --batch-size 32`, then `sffa evaluate model.safetensors`.
#
# Next: [watch it forget, and cure it](forgetting.md).
