"""Whether the same configurations give the same bits as before a change, on this machine.

python benchmarks/bits.py > before.json      # before a change
python benchmarks/bits.py --check before.json  # after it
"""

import argparse
import hashlib
import json
import sys
import warnings

import torch

import sffa
from sffa.continual import ContinualConfig, run
from sffa.data import load

HIDDEN = (60, 60)


def digest(learner):
    total = hashlib.sha256()
    for name, value in sorted(learner.state_dict().items()):
        total.update(name.encode())
        total.update(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def static(algorithm, backend="auto", epochs=2, **given):
    data = load("digits")
    trainer = {k: given.pop(k) for k in ("negatives", "schedule") if k in given}
    if algorithm == "bp":
        net = sffa.Backprop(data.features, HIDDEN, range(10), seed=3)
    else:
        net = sffa.Network(
            data.features, HIDDEN, algorithm, range(10), 3, **{NAME: backend}, **given
        )
    net.standardise(data.mean, data.std)
    fitted = sffa.Trainer(net, lr=3e-3, seed=3, **trainer)
    history = fitted.fit(data.train.flat, data.train.y, epochs=epochs, batch_size=64)
    return {"bits": digest(net), "losses": [epoch.loss for epoch in history]}


def stream(algorithm, scenario, method, backend="auto", network=None, **options):
    if algorithm != "bp":
        network = {"k": 5, **(network or {})}
    config = ContinualConfig(
        dataset="split-digits",
        scenario=scenario,
        method=method,
        algorithm=algorithm,
        seed=3,
        batch_size=64,
        hidden=HIDDEN,
        network=network or {},
        options=options,
        **{NAME: backend},
    )
    result = run(config, load("digits"))
    return {"bits": digest(result.learner), "matrix": result.rows}


def classifier():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    model = sffa.SFFAClassifier(hidden=(60, 60), epochs=2, random_state=3, early_stopping=True)
    model.partial_fit(X[y < 5], y[y < 5])
    model.partial_fit(X[y >= 5], y[y >= 5])
    return {"bits": digest(model.network_), "losses": model.loss_curve_}


def trace():
    from sffa.analysis import stability

    data = load("digits")
    found = stability.compare(
        data.train.flat, data.train.y, 10, mean=data.mean, std=data.std, hidden=HIDDEN, epochs=2
    )
    return {name: hashlib.sha256(t.loss.tobytes()).hexdigest() for name, t in found.items()}


RUNS = {
    "static sffa numba": lambda: static("sffa", "numba", k=5),
    "static sffa torch uniform": lambda: static("sffa", "torch", k=5, negatives="uniform"),
    "static ffa mean hard": lambda: static("ffa", scale="mean", negatives="hard"),
    "static bp": lambda: static("bp"),
    "static sffa greedy gated": lambda: static("sffa", "numba", k=5, gate=0.5, schedule="greedy"),
    "class naive sffa": lambda: stream("sffa", "class", "naive"),
    "class replay ffa": lambda: stream("ffa", "class", "replay", **{"replay.capacity": 50}),
    "domain ewc sffa torch": lambda: stream("sffa", "domain", "ewc", "torch"),
    "task si bp": lambda: stream("bp", "task", "si"),
    "task gem sffa": lambda: stream("sffa", "task", "gem"),
    "class mas ffa": lambda: stream("ffa", "class", "mas"),
    "class replay+ewc gated": lambda: stream(
        "sffa-gated", "class", "replay+ewc", network={"gate": 0.5}
    ),
    "domain si disjoint": lambda: stream(
        "sffa", "domain", "si", network={"gate": "disjoint", "k": 2}
    ),
    "class a-gem bp": lambda: stream("bp", "class", "a-gem"),
    "classifier": classifier,
    "stability": trace,
}
NAME = "backend"


def main():
    global NAME
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", help="a file that this script printed before")
    parser.add_argument("--backend-option", default="backend", help="its name in that version")
    asked = parser.parse_args()
    NAME = asked.backend_option
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)
    found = {name: do() for name, do in RUNS.items()}
    if asked.check is None:
        print(json.dumps(found, indent=1))
        return
    with open(asked.check) as file:
        before = json.load(file)
    differing = [name for name in before if found.get(name) != before[name]]
    print(f"{len(before) - len(differing)} of {len(before)} runs give the same bits")
    for name in differing:
        print(f"differs: {name}")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
