"""The studies by name: the paper's two, what we add to it, and a small one that takes seconds."""

from __future__ import annotations

import functools

from sffa.errors import ConfigurationError, nearest
from sffa.study.grid import Grid, Override, Study
from sffa.vocabulary import PAPER_ALGORITHMS

PAPER = list(PAPER_ALGORITHMS)
_NO_NEGATIVES = Override(when={"algorithm": "bp"}, set={"negatives": "none"})

# The paper gives one number a cell in RQ1 and says nothing of seeds; ours are three.
RQ1 = Study(
    "rq1",
    (
        Grid(
            base={"scenario": "static", "negatives": "uniform"},
            axes={
                "dataset": ["mnist", "fmnist", "kmnist", "emnist-letters"],
                "algorithm": PAPER,
            },
            overrides=[_NO_NEGATIVES],
        ),
    ),
    seeds=tuple(range(3)),
)

RQ2 = Study(
    "rq2",
    (
        Grid(
            axes={
                "dataset": ["split-mnist", "split-fmnist"],
                "scenario": ["class", "domain", "task"],
                "method": ["naive", "ewc", "si", "mas", "replay", "gem"],
                "algorithm": PAPER,
            },
        ),
    ),
    seeds=tuple(range(10)),
)

# What we add to the paper: a label gate, all labels as negatives, and new examples contrasted with
# new labels only. Chosen on held-out examples (results/gate_choice.csv, results/gate_static.csv);
# static training, with a tenth of the pixels hidden in each step, by results/static_choice.csv. The
# step size falls to nothing over epochs that were chosen there too, so the last one counts, and
# every example is trained on.
OURS = Study(
    "ours",
    (
        Grid(
            base={
                **{"scenario": "static", "algorithm": "sffa-gated", "negatives": "all"},
                **{"epochs": 30, "batch_size": 64, "lr": 5e-4, "lr_schedule": "cosine"},
                **{"input_dropout": 0.1, "holdout": 0, "network": {"gate": "disjoint"}},
            },
            axes={"dataset": ["mnist", "fmnist"]},
        ),
        Grid(
            base={"algorithm": "sffa-gated"},
            axes={
                "dataset": ["split-mnist", "split-fmnist"],
                "scenario": ["class", "domain", "task"],
                "method": ["naive", "replay", "gaussian"],
            },
        ),
    ),
    seeds=tuple(range(3)),
)

# Class IL without stored examples, beside replay, distillation and what learns in closed form.
# Replay of the same bytes: `gaussian` ends with 1,726,216 bytes, and an example takes 816 of them,
# 784 pixels and its label, task, key and group of 8 each, so 2,115 examples. By default a step has
# no more than 512 of them; with 2,048 it has as many as it has pseudo-examples under `gaussian`.
_SPLIT = {"dataset": ["split-mnist", "split-fmnist"], "scenario": ["class"]}
SAME_BYTES = {"replay.capacity": 2115}
_MORE_PARTS = {"gaussian.parts": 10, "gaussian.dtype": "int8", "gaussian.batch": 2048}
_HALF_BATCHES = {"method": "gaussian", "batch_size": 256, "lr_schedule": "cosine"}
REMEMBER = Study(
    "remember",
    (
        Grid(
            base={"algorithm": "sffa-contrast"},
            axes={**_SPLIT, "method": ["gaussian", "naive", "replay", "derpp", "lwf"]},
        ),
        Grid(
            axes={
                **_SPLIT,
                "method": ["gaussian", "naive", "replay"],
                "algorithm": ["sffa", "bp"],
            }
        ),
        # Twice the steps, each of half the examples, and a step size that falls; then more parts in
        # fewer bits and more pseudo-examples: chosen on held-out examples, the last over three
        # seeds (results/gaussian_choice.csv).
        Grid(base={**_HALF_BATCHES, "algorithm": "sffa-contrast"}, axes=_SPLIT),
        Grid(
            base={**_HALF_BATCHES, "options": _MORE_PARTS},
            axes={**_SPLIT, "algorithm": ["sffa-contrast", "bp"]},
        ),
        Grid(base={"method": "naive"}, axes={**_SPLIT, "algorithm": ["ridge", "slda"]}),
        # The upper bound: every example seen so far, in each experience.
        Grid(
            base={"method": "joint"},
            axes={**_SPLIT, "algorithm": ["sffa-contrast", "sffa", "bp"]},
        ),
        Grid(base={**_HALF_BATCHES, "method": "joint", "algorithm": "sffa-contrast"}, axes=_SPLIT),
        Grid(
            base={"method": "replay", "options": SAME_BYTES},
            axes={**_SPLIT, "algorithm": ["sffa-contrast", "sffa", "bp"]},
        ),
        # New examples contrasted with new labels only; with a gate besides, `sffa-gated`.
        Grid(
            base={"method": "naive", "network": {"contrast_with": "current"}},
            axes={**_SPLIT, "algorithm": ["sffa", "bp"]},
        ),
        Grid(base={"method": "naive", "algorithm": "sffa-gated"}, axes=_SPLIT),
        Grid(axes={**_SPLIT, "method": ["derpp", "lwf"], "algorithm": ["sffa", "bp"]}),
        Grid(
            base={
                **{"method": "replay", "algorithm": "sffa-contrast"},
                "options": {**SAME_BYTES, "replay.batch": 2048},
            },
            axes=_SPLIT,
        ),
    ),
    seeds=tuple(range(10)),
)

# The other two scenarios with statistics in place of examples, beside replay of 500 examples,
# keeping nothing, and closed forms.
_DOMAIN_AND_TASK = {"dataset": ["split-mnist", "split-fmnist"], "scenario": ["domain", "task"]}
REMEMBER_SCENARIOS = Study(
    "remember-scenarios",
    (
        Grid(
            axes={
                **_DOMAIN_AND_TASK,
                "method": ["gaussian", "replay", "naive"],
                "algorithm": ["sffa-contrast", "sffa", "bp"],
            }
        ),
        Grid(
            base={"method": "naive"},
            axes={**_DOMAIN_AND_TASK, "algorithm": ["ridge", "slda"]},
        ),
    ),
    seeds=tuple(range(3)),
)

_SMALL = {"hidden": [60, 60], "batch_size": 128, "lr": 1e-3}
_FEW_WINNERS = Override(when={"algorithm": "sffa"}, set={"network.k": 5})

QUICK = Study(
    "quick",
    (
        Grid(
            base={
                **_SMALL,
                "scenario": "static",
                "dataset": "digits",
                "negatives": "uniform",
                "epochs": 5,
                "holdout": 200,
            },
            axes={"algorithm": PAPER},
            overrides=[_NO_NEGATIVES, _FEW_WINNERS],
        ),
        Grid(
            base={**_SMALL, "dataset": "split-digits"},
            axes={
                "scenario": ["class"],
                "method": ["naive", "replay"],
                "algorithm": PAPER,
            },
            overrides=[_FEW_WINNERS],
        ),
    ),
    seeds=(0, 1),
)

STUDIES = {study.name: study for study in (RQ1, RQ2, OURS, REMEMBER, REMEMBER_SCENARIOS, QUICK)}
ALIASES = {"paper-rq1": "rq1", "paper-rq2": "rq2"}


@functools.cache
def hashes(name: str) -> frozenset[str]:
    """Return the hashes of all configurations of a study."""
    return frozenset(r.key.config_hash for r in STUDIES[name].restricted(seeds=(0,)).runs())


def studies(name: str) -> list[Study]:
    """Return the studies that a name stands for.

    >>> [len(study.runs()) for study in studies("rq1")]
    [36]
    """
    if name == "all":
        return [RQ1, RQ2]
    short = ALIASES.get(name, name)
    if short not in STUDIES:
        known = ["all", *STUDIES, *ALIASES]
        raise ConfigurationError(
            f"unknown study '{name}'{nearest(name, known)} (known: {', '.join(known)}; "
            "or the path of a .toml file)"
        )
    return [STUDIES[short]]
