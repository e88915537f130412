"""Repetition: classes that come back, the same examples in one round or dealt out to several."""

from common import DATA, accuracy, show

from sffa.continual import Repetition


def main(seed):
    found = {}
    for times in (1, 2, 5):
        stream = Repetition(DATA, "class", seed, times=times, regroup=True)
        found[f"naive, {times} rounds"] = accuracy(seed, stream)
    return found


if __name__ == "__main__":
    show(main)
