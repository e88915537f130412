"""Blurry boundaries: some examples of every class come in the experiences of other classes."""

from common import DATA, accuracy, show

from sffa.continual import Blurry


def main(seed):
    found = {}
    for overlap in (0.0, 0.1, 0.3):
        stream = Blurry(DATA, "class", seed, overlap=overlap)
        found[f"naive, {overlap:.0%} elsewhere"] = accuracy(seed, stream)
    return found


if __name__ == "__main__":
    show(main)
