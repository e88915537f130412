"""Another label code: rows of a Hadamard matrix, of which any two differ in half their bits."""

from common import accuracy, show
from scipy.linalg import hadamard

from sffa.core import LabelCode


class Hadamard(LabelCode):
    """Row label + 1 of the matrix, as zeros and ones; the first row would be the same bit."""

    def code(self, label, taken, size, seed):
        return hadamard(size)[label + 1] > 0


def main(seed):
    codes = {"random bits": {}, "Hadamard": {"codes": Hadamard}}
    kinds = {n: {"code_size": 64, **k} for n, k in codes.items()}
    return {n: accuracy(seed, method="replay", network=k) for n, k in kinds.items()}


if __name__ == "__main__":
    show(main)
