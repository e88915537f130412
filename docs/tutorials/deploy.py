# %% [markdown]
# # Deploy
#
# A trained network can leave Python, or leave torch. Train a small one first.

# %%
import sffa
from sffa.data import load

data = load("digits")
net = sffa.Network(data.features, hidden=(200, 200), seed=0)
trainer = sffa.Trainer(net, lr=3e-3)
trainer.fit(data.train.flat, data.train.y, epochs=5, batch_size=32)
net.save("digits.safetensors")

# %% [markdown]
# ## ONNX
#
# The whole label scan, winners and standardisation included, becomes one graph. It needs the extra
# `onnx`; on the command line it is `sffa export digits.safetensors digits.onnx`.

# %%
from sffa.integrations import onnx

onnx.export(net, "digits.onnx")

# %%
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("digits.onnx")
x = data.test.flat.astype(np.float32) / 255  # bytes are divided by 255 before the graph
scores, labels = session.run(["scores", "label"], {"input": x})
print("same labels:", (labels == net.predict(data.test.flat)).mean())
print("scores differ by at most", np.abs(scores - net.scores(data.test.flat)).max())

# %% [markdown]
# ## Without torch
#
# `sffa.lite` needs NumPy alone. It reads the same file, predicts the same, and **goes on learning**,
# for a machine on which torch does not fit. Here in a process of its own, which tells what it has
# imported:

# %%
from pathlib import Path

np.savez("day_two.npz", x=data.train.flat[:64], y=data.train.y[:64], test=data.test.flat)
written = Path("device.py").write_text("""
import sys

import numpy as np

from sffa import lite

day = np.load("day_two.npz")
network = lite.load("digits.safetensors", lr=1e-3)
np.save("predicted.npy", network.predict(day["test"]))
network.partial_fit(day["x"], day["y"])
network.save("learned.safetensors")
print({name: name in sys.modules for name in ("numpy", "torch", "numba", "scipy")})
""")

# %% language="bash"
# python device.py

# %% [markdown]
# The same predictions, and what the device learned comes back to the whole library:

# %%
print((np.load("predicted.npy") == net.predict(data.test.flat)).mean())
for name in ("digits", "learned"):
    model = sffa.load(f"{name}.safetensors")
    print(f"{name:8} {(model.predict(data.test.flat) == data.test.y).mean():.3f}")

# %% [markdown]
# More: [ONNX](../integrations/onnx.md), [small machines](../lite.md).
