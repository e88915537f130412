"""The embedded dataset: scikit-learn's 8x8 digits with one fixed, stratified split."""

from __future__ import annotations

import base64
import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sffa.data.dataset import Split

_SIZE = 1797
# A bit for each example, set for those of the test split: train_test_split of scikit-learn with
# random_state=0, stratified.
_TEST = (
    "AAAEiDUkEEAABkEAk0IFABoACAEAJAAoBiwSABAAlAoAkBkSBCD4oAKBEKAACAqIIEQVJElCQKAKAAAAQATYAACBgCAA"
    "SAXEABBACKAQAAVASAAwEAACDsQJAAIkhACDqAE8IKaYCgAAAAsIQAgEoBhIAgJAQcEAgARARoQ3aoECFgBEgABAQqCk"
    "GApQAIQLhWHGCBCACABMgMAgBAaOAAEIggCBADgIA8AIGQAAEA4BAIQQoCEAMygpBMBEwIBoDgECgwCCAIgipkAsJAQh"
    "CKhggJCBoAwCggJCEgE4pBUA"
)


def load_digits() -> tuple[Split, Split]:
    """Return 1,437 training and 360 test images, values 0..16 scaled to uint8."""
    table = _table()
    pixels, labels = table[:, :-1].reshape(-1, 8, 8), table[:, -1].astype(np.int64)
    everything = Split(np.rint(pixels * (255 / 16)).astype(np.uint8), labels)
    bits = np.frombuffer(base64.b64decode(_TEST), np.uint8)
    test = np.unpackbits(bits)[:_SIZE].astype(bool)
    return everything.subset(np.flatnonzero(~test)), everything.subset(np.flatnonzero(test))


def _table() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return pixels and label of each example; importing scikit-learn takes longer than reading."""
    found = find_spec("sklearn")
    folder = Path((found and found.origin) or "").parent
    file = folder / "datasets" / "data" / "digits.csv.gz"
    if file.is_file():
        with gzip.open(file, "rt") as lines:
            return np.loadtxt(lines, delimiter=",")
    from sklearn.datasets import load_digits as sklearn_digits

    bunch = sklearn_digits()
    return np.column_stack([bunch.data, bunch.target])
