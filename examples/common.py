"""What the examples share: the handwritten digits that come with scikit-learn, and a small run."""

from sffa.continual import ContinualConfig, run
from sffa.data import load

DATA = load("digits")
SMALL = {"dataset": "digits", "hidden": (60,), "batch_size": 32, "epochs": 2, "lr": 1e-2}


def accuracy(seed: int = 0, stream=None, strategy=None, learner=None, **options) -> float:
    """Return the accuracy over all experiences at the end of a stream, in percent."""
    config = ContinualConfig(**{**SMALL, "seed": seed, **options})
    data = None if stream is not None else DATA
    parts = {"stream": stream, "strategy": strategy, "learner": learner}
    return run(config, data, **parts).metrics["acc"]


def show(main) -> None:
    """Print what an example comes to, one seed."""
    for name, value in main(seed=0).items():
        print(f"{name:32} {value:6.2f} %")
