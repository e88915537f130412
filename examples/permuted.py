"""Permuted-MNIST: the pixels in another order in every experience. MNIST, if it is at hand."""

import os

from common import DATA, accuracy, show

from sffa.continual import Permuted
from sffa.data import load


def main(seed):
    data = load("mnist") if os.environ.get("SFFA_EXAMPLE_MNIST") else DATA
    stream = Permuted(data, "domain", seed, experiences=5)
    found = {m: accuracy(seed, stream, method=m, algorithm="bp") for m in ("naive", "replay")}
    ewc = {"ewc.strength": 1000.0, "ewc.fisher": "sample", "ewc.examples": 200}
    found["ewc"] = accuracy(seed, stream, method="ewc", options=ewc, algorithm="bp")
    return found


if __name__ == "__main__":
    show(main)
