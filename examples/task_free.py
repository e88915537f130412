"""Task-free: one pass over batches in which classes come and go; nobody says where."""

from common import DATA, accuracy, show

from sffa.continual import Replay, TaskFree


def main(seed):
    stream = TaskFree(DATA, "class", seed, batch_size=10, drift=0.2)
    once = {"stream": stream, "epochs": 1, "batch_size": 10, "evaluate_every": 40}
    return {
        "naive": accuracy(seed, **once),
        "replay of 100, a reservoir": accuracy(seed, strategy=Replay(100, 10, "reservoir"), **once),
    }


if __name__ == "__main__":
    show(main)
