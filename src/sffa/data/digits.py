"""The embedded dataset: scikit-learn's 8x8 digits with one fixed, stratified split."""

from __future__ import annotations

import numpy as np

from sffa.data.dataset import Split

TEST_SIZE = 360
SEED = 0


def load_digits() -> tuple[Split, Split]:
    """Return 1,437 training and 360 test images, values 0..16 scaled to uint8."""
    from sklearn.datasets import load_digits as sklearn_digits
    from sklearn.model_selection import train_test_split

    bunch = sklearn_digits()
    everything = Split(
        np.rint(bunch.images * (255 / 16)).astype(np.uint8), bunch.target.astype(np.int64)
    )
    train, test = train_test_split(
        np.arange(len(everything)), test_size=TEST_SIZE, random_state=SEED, stratify=everything.y
    )
    return everything.subset(np.sort(train)), everything.subset(np.sort(test))
