"""Make src/sffa/playground/digits.safetensors: statistics of MNIST, and 500 of its test images.

python tools/playground_digits.py [--out FILE]    (needs MNIST; see SFFA_DATA_DIR)
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save

from sffa.data import load
from sffa.files import write_bytes
from sffa.playground.material import PACKAGED, TESTED_ON, halved, statistics_of


def main() -> None:
    """Take the statistics of all training images, and the first test images of each digit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PACKAGED)
    out = parser.parse_args().out
    data = halved(load("mnist"))
    kept = statistics_of(data).tensors()
    each = TESTED_ON // data.classes
    places = [np.flatnonzero(data.test.y == label)[:each] for label in range(data.classes)]
    test = data.test.subset(np.sort(np.concatenate(places)))
    tensors = {name: tensor.contiguous() for name, tensor in kept.items()}
    tensors |= {"test.x": torch.from_numpy(test.x), "test.y": torch.from_numpy(test.y).byte()}
    write_bytes(out, save(tensors, {"source": "MNIST (LeCun, Cortes, Burges), halved to 14 x 14"}))
    print(f"{out}: {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
